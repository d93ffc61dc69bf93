package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/testkit/history"
)

// lookEvery is how often a bystander looks at a batch or a job.
const lookEvery = 25 * time.Millisecond

// bystander looks at batches and jobs while others work on them, with a connection of
// its own, and at the log to see from when on something was certainly done.
type bystander struct {
	mu     sync.Mutex
	known  []domain.Aggregate
	last   map[domain.Aggregate]bool
	noted  map[string]time.Time // when an event was seen in the log
	looks  []history.Access
	places uint64 // how far the log was read
}

// bystand lets one look on until the test ends.
func (in *installation) bystand() {
	in.t.Helper()
	b := &bystander{last: map[domain.Aggregate]bool{}, noted: map[string]time.Time{}}
	in.bystander = b
	conn, _, err := zk.Connect([]string{in.settings["zookeeper"]}, 10*time.Second, zk.WithLogInfo(false))
	in.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	root := in.settings["zookeeper_root"] // a test may change settings meanwhile
	var all sync.WaitGroup
	all.Go(func() { b.follow(ctx, in.log) })
	all.Go(func() { b.look(ctx, conn, root) })
	in.t.Cleanup(func() {
		cancel()
		conn.Close()
		all.Wait()
	})
}

// follow notes when events are in the log, again after each break.
func (b *bystander) follow(ctx context.Context, log eventstore.Log) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		for r, err := range log.Read(ctx, eventstore.ReadOptions{From: b.places + 1, Follow: true}) {
			if err != nil {
				break
			}
			b.note(r)
		}
		<-tick.C
	}
}

func (b *bystander) note(r domain.Recorded) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.places, b.noted[r.ID()] = r.Seq, time.Now()
	if (r.Aggregate.Kind == domain.KindJob || r.Aggregate.Kind == domain.KindBatch) && !b.last[r.Aggregate] {
		b.known, b.last[r.Aggregate] = append(b.known, r.Aggregate), true
	}
}

// look looks at one batch or job after the other, rather at new ones.
func (b *bystander) look(ctx context.Context, conn *zk.Conn, root string) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		b.mu.Lock()
		n := len(b.known)
		var a domain.Aggregate
		if n > 0 {
			a = b.known[max(rand.IntN(n), rand.IntN(n))]
		}
		b.mu.Unlock()
		if n > 0 {
			b.lookAt(conn, root, a)
		}
	}
}

func (b *bystander) lookAt(conn *zk.Conn, root string, a domain.Aggregate) {
	dir := "/jobs/"
	if a.Kind == domain.KindBatch {
		dir = "/batches/"
	}
	look := history.Access{Of: a.String(), Begun: time.Now()}
	data, _, err := conn.Get(root + dir + a.ID + "/status")
	look.Ended = time.Now()
	if err == nil {
		err = json.Unmarshal(data, &look.Value)
	}
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return // nothing was seen
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.looks = append(b.looks, look)
	if err != nil { // it is gone
		b.known = slices.DeleteFunc(b.known, func(k domain.Aggregate) bool { return k == a })
	}
}

// linearizable fails the test unless every batch and job was a compare-and-set
// register. Everything must be at rest.
func (in *installation) linearizable(ctx context.Context) {
	in.t.Helper()
	b := in.bystander
	b.mu.Lock()
	all := append([]history.Access(nil), b.looks...)
	b.mu.Unlock()
	ends, looks := map[string]bool{}, len(all)
	for r, err := range in.log.Read(ctx, eventstore.ReadOptions{}) {
		in.must(err)
		if r.Aggregate.Kind != domain.KindJob && r.Aggregate.Kind != domain.KindBatch {
			continue
		}
		b.mu.Lock()
		seen, is := b.noted[r.ID()]
		b.mu.Unlock()
		w := history.Access{Of: r.Aggregate.String(), Value: history.Value{Version: r.Version, Command: r.CommandID}, Write: true,
			Begun: r.Time.Time, Ended: seen}
		if !is {
			w.Ended = time.Now()
		}
		if w.Begun.After(w.Ended) { // the writer's clock is wrong
			w.Begun = time.Time{}.AddDate(1999, 0, 0)
		}
		// From these on it may go at any time: a deleted batch, and the jobs of one that
		// is cleaned up, go without further events.
		switch r.Type {
		case domain.EventBatchDeleted, domain.EventBatchCleaned, domain.EventJobCleaned:
			ends[w.Of] = true
		case domain.EventJobDeleted:
			w.Last = true
		}
		all = append(all, w)
	}
	kept := all[:0]
	for _, a := range all {
		if a.Write || a.Value.Version > 0 || !ends[a.Of] {
			kept = append(kept, a)
		}
	}
	for _, fault := range history.Linearizable(kept) {
		in.t.Error(fault)
	}
	in.t.Logf("%d looks and %d changes are linearizable", looks, len(all)-looks)
}

// apart fails the test unless the claims of each batch and job were one after the
// other, by what ZooKeeper itself wrote down.
func (in *installation) apart(ctx context.Context) {
	in.t.Helper()
	dir, upTo, err := history.Server(ctx, in.settings["zookeeper"])
	in.must(err)
	claims := history.NewClaims()
	in.must(history.ReadLog(dir, in.settings["zookeeper_root"], in.begun, upTo, claims.Write))
	in.late = len(claims.Faults())
	for _, fault := range claims.Faults() {
		in.t.Error(fault)
	}
	events, under := claims.Seen()
	if under == 0 {
		in.t.Errorf("none of %d events was written under a claim", events)
	}
	in.t.Logf("%d of %d events were written under claims, one after the other", under, events)
}
