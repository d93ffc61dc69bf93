package relay

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Relay takes the events of the outbox to the log: each aggregate's in order, without
// gaps or duplicates, in atomic batches.
//
// Each shard has one leader; a second relay on the same shard does no harm, because
// every append names the sequence it must follow. An event that is in the log already
// is skipped. An aggregate whose next event cannot be appended is held, with an alarm,
// while all others go on; the mark stays before the first event that is not in the log.
//
// While log or outbox cannot be reached the relay waits and tries again; nothing
// is lost, as events leave the outbox only after they are in the log.
type Relay struct {
	Outbox eventstore.Outbox
	Log    eventstore.Log
	Logger *slog.Logger // nil = slog.Default()
	// Drain is how long the last pass may take after ctx of Run has ended. 0 = 5 s.
	Drain time.Duration

	mu   sync.Mutex
	gaps map[domain.Aggregate]Gap
}

// Gap is an alarm about a held aggregate: the log cannot take its next event, because
// an event before it is missing, because another command wrote that number, or
// because the event itself cannot be written.
type Gap struct {
	Aggregate domain.Aggregate
	Shard     int
	Version   int64 // of the event that waits
	Known     int64 // of the aggregate's last event in the log, 0 = none
	Why       string
	Since     time.Time
}

// Gaps lists the aggregates that are held in the shards led here, by name.
func (r *Relay) Gaps() []Gap {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Values(r.gaps), func(a, b Gap) int { return cmp.Compare(a.Aggregate.String(), b.Aggregate.String()) })
}

const (
	drainTime      = 5 * time.Second
	firstPause     = 100 * time.Millisecond // after a failure, doubled up to
	longPause      = 5 * time.Second
	firstRetryHeld = time.Second // until held aggregates are tried again, doubled up to
	longRetryHeld  = time.Minute
)

// Run carries events until ctx ends, makes a last pass over the shards that it
// leads, and returns nil.
func (r *Relay) Run(ctx context.Context) error {
	drain := r.Drain
	if drain == 0 {
		drain = drainTime
	}
	// hard outlives ctx, so that a pass that runs when ctx ends can be finished.
	hard, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(drain, stop)
		context.AfterFunc(hard, func() { timer.Stop() })
	})()
	var all sync.WaitGroup
	for n := range r.Outbox.Shards() {
		all.Go(func() { r.serve(ctx, hard, n) })
	}
	all.Wait()
	return nil
}

// serve leads a shard, again after each loss of the lead.
func (r *Relay) serve(ctx, hard context.Context, n int) {
	log := cmp.Or(r.Logger, slog.Default()).With("shard", n)
	pause := doubling(firstPause, longPause)
	for ctx.Err() == nil {
		lead, resign, err := r.lead(ctx, hard, n)
		if err != nil {
			if ctx.Err() == nil {
				log.WarnContext(ctx, "relay: the shard cannot be led", "error", err)
				sleep(ctx, pause.NextBackOff())
			}
			continue
		}
		pause.Reset()
		newShard(r, n, log).run(ctx, lead)
		r.forgetGaps(n)
		resign()
	}
}

// lead waits for the lead until ctx ends; a lead that was won outlives ctx.
func (r *Relay) lead(ctx, hard context.Context, n int) (context.Context, func(), error) {
	waiting, giveUp := context.WithCancel(hard)
	detach := context.AfterFunc(ctx, giveUp)
	lead, resign, err := r.Outbox.Lead(waiting, n)
	detach()
	if err != nil {
		giveUp()
		return nil, nil, err
	}
	return lead, func() { resign(); giveUp() }, nil
}

func (r *Relay) setGap(g Gap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gaps == nil {
		r.gaps = map[domain.Aggregate]Gap{}
	}
	r.gaps[g.Aggregate] = g
}

func (r *Relay) clearGap(a domain.Aggregate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.gaps, a)
}

// forgetGaps drops the alarms of a shard that is no longer led: its next leader, here
// or elsewhere, raises them again.
func (r *Relay) forgetGaps(shard int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.gaps, func(_ domain.Aggregate, g Gap) bool { return g.Shard == shard })
}

// doubling returns pauses that double.
func doubling(first, longest time.Duration) *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{InitialInterval: first, Multiplier: 2, MaxInterval: longest}
}

// sleep pauses, at most until ctx ends.
func sleep(ctx context.Context, pause time.Duration) {
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}
