package model_test

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/relay"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/internal/testkit/model"
)

// hold sets or lifts the hold on a collection.
func (r *run) hold() {
	r.set(domain.HoldCollection, r.want.Held, oneOf(r, "collection", collections))
}

// pause stops a queue, or lets it go on.
func (r *run) pause() {
	r.set(domain.HoldQueue, r.want.Paused, oneOf(r, "queue", []string{"pending", "downloading", domain.QueueIngest}))
}

func (r *run) set(kind domain.SettingKind, of map[string]bool, name string) {
	n, p := r.process()
	on := of[name] != r.sane() // most often the other way
	if on && r.dice("late", 4) > 0 {
		return // so that they are lifted sooner than set
	}
	var h *domain.Hold
	if on {
		h = &domain.Hold{By: "ana", When: domain.At(time.Unix(1_700_000_000, 0)), Why: "a test"}
	}
	_, err := p.handler.Hold(r.Context(), kind, name, h, "a test", storetest.Operator())
	want := model.HoldSetting(of, name, on)
	if want == model.Done {
		r.settings++
	}
	r.say(want, err, "%d: %s %s on hold: %t", n, kind, name, on)
}

// expire ends a session. What was claimed in it is free; its claims are kept, as those
// of a worker that does not know yet.
func (r *run) expire() {
	if r.expired++; r.expired > 1 && r.servers.slow() {
		return
	}
	n, p := r.process()
	r.servers.expire(p.store)
	r.lose(n)
	r.did("%d: its session expires", n)
}

// restart kills a process and starts another in its place.
func (r *run) restart() {
	n, p := r.process()
	s := r.servers.restart(p.store)
	r.lose(n)
	r.processes[n] = newProcess(s)
	var left []*held
	for _, h := range r.held {
		if h.by != n {
			left = append(left, h)
		}
	}
	r.held = left
	r.did("%d: dies and starts again", n)
}

func (r *run) lose(n int) {
	for _, h := range r.held {
		if h.by == n {
			r.want.Lose(h.claim.ID)
			for _, p := range r.processes {
				p.late[h.claim.Aggregate.ID] = true
			}
		}
	}
}

// relay takes all events to the log.
func (r *run) relay() {
	n, p := r.process()
	r.sent(p.store)
	r.did("%d: relay", n)
}

func (r *run) sent(s storetest.Store) {
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	relay := &relay.Relay{Outbox: s, Log: r.servers.log(), Logger: slog.New(slog.DiscardHandler)}
	running, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { _ = relay.Run(running) })
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for {
		info, err := r.servers.log().Info(ctx)
		if err != nil {
			r.Fatalf("relay: %d of %d events in the log: %v, held: %+v", info.Last, r.events(), err, relay.Gaps())
		}
		if int(info.Last) >= r.events() {
			break
		}
		<-tick.C
	}
	stop() // what is under way comes to its end
	all.Wait()
	if d, err := s.Depth(ctx); err != nil || d.Unsent > 0 {
		r.Fatalf("%d events are not sent (%v), held: %+v", d.Unsent, err, relay.Gaps())
	}
}

// events is how many there must be.
func (r *run) events() int {
	n := r.settings
	for _, b := range r.want.Batches {
		n += b.Version
	}
	for _, j := range r.want.Jobs {
		n += j.Version
	}
	return n
}
