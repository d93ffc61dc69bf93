package eventstore_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/eventstore"
)

// presses is a pressure over a load that a test sets.
type presses struct {
	*eventstore.Pressure
	mu    sync.Mutex
	load  eventstore.Load
	looks int
	log   strings.Builder
}

func newPresses() *presses {
	p := &presses{load: eventstore.Load{Queues: map[domain.JobState]int{}}}
	p.Pressure = &eventstore.Pressure{Limits: eventstore.Limits{Warn: 10, Full: 20, Stop: 40, Queue: 100}, Log: slog.New(slog.NewTextHandler(&p.log, nil)),
		Measure: func(context.Context) (eventstore.Load, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.looks++
			return p.load, nil
		}}
	return p
}

func (p *presses) set(unsent int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.load.Unsent = unsent
}

var (
	newBatch = []eventstore.Change{{Batch: &eventstore.Transition[domain.Batch]{To: domain.Batch{ID: "bid0000000001", State: domain.BatchPending}}}}
	newQuery = []eventstore.Change{{Query: &eventstore.Transition[lookup.Query]{To: lookup.Query{ID: "qid0000000001", State: asked.Received}}}}
	endQuery = []eventstore.Change{{Query: &eventstore.Transition[lookup.Query]{From: lookup.Query{State: asked.Grabbed}, To: lookup.Query{State: asked.Answered}}}}
	moveJob  = []eventstore.Change{{Job: &eventstore.Transition[domain.Job]{From: domain.Job{State: domain.JobPending}, To: domain.Job{State: domain.JobEstimating}}}}
	setHold  = []eventstore.Change{{Setting: &eventstore.Transition[domain.Setting]{}}}
)

// TestPressureByLevel: what each level lets through.
// Shows: P8
func TestPressureByLevel(t *testing.T) {
	t.Parallel()
	for unsent, want := range map[int]struct {
		level         eventstore.Level
		deposit, move bool
	}{
		0: {eventstore.LevelOpen, true, true}, 9: {eventstore.LevelOpen, true, true}, 10: {eventstore.LevelWarn, true, true},
		20: {eventstore.LevelFull, false, true}, 39: {eventstore.LevelFull, false, true}, 40: {eventstore.LevelStop, false, false},
	} {
		p := newPresses()
		p.set(unsent)
		if err := p.Deposit(t.Context()); (err == nil) != want.deposit {
			t.Errorf("%d unsent: a deposit gets %v", unsent, err)
		}
		for _, c := range []struct {
			changes []eventstore.Change
			may     bool
		}{{newBatch, want.deposit}, {moveJob, want.move}, {setHold, true}} {
			err := p.Admit(t.Context(), c.changes)
			var full *eventstore.FullError
			if (err == nil) != c.may || err != nil && (!errors.Is(err, eventstore.ErrFull) || !errors.As(err, &full) || full.Have != unsent || full.After == 0) {
				t.Errorf("%d unsent, %+v: %v", unsent, c.changes, err)
			}
		}
		if got := p.Level(); got != want.level {
			t.Errorf("%d unsent: %v, want %v", unsent, got, want.level)
		}
	}
}

// TestEndedJobsFillNoQueue: jobs that have failed or completed keep no deposit out.
func TestEndedJobsFillNoQueue(t *testing.T) {
	t.Parallel()
	p := newPresses()
	for _, s := range domain.JobStates {
		clear(p.load.Queues)
		p.load.Queues[s] = 100
		ended := s == domain.JobFailed || s == domain.JobCompleted
		if err := p.Deposit(t.Context()); (err == nil) != ended {
			t.Errorf("100 jobs %s: %v", s, err)
		}
	}
}

// TestQueuesHaveLimits: too many jobs in one state, or batches, keep deposits out
// and nothing else.
// Shows: P8
func TestQueuesHaveLimits(t *testing.T) {
	t.Parallel()
	p := newPresses()
	p.load.Queues[domain.JobDownloading] = 100
	if err := p.Deposit(t.Context()); !errors.Is(err, eventstore.ErrFull) || !strings.Contains(err.Error(), "100 jobs downloading") {
		t.Errorf("%v", err)
	}
	if err := p.Admit(t.Context(), moveJob); err != nil {
		t.Error(err)
	}
	p.load = eventstore.Load{Batches: 200, Unended: 100}
	if err := p.Deposit(t.Context()); !errors.Is(err, eventstore.ErrFull) {
		t.Errorf("%v", err)
	}
	for name, c := range map[string]struct {
		changes []eventstore.Change
		refused bool
	}{"a batch": {newBatch, true}, "a query": {newQuery, true}, "the answer to a query": {endQuery, false}} {
		if err := p.Admit(t.Context(), c.changes); errors.Is(err, eventstore.ErrFull) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.load = eventstore.Load{Batches: 200, Unended: 99}
	if err := p.Deposit(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestHeapHasALimit: at the limit of ZooKeeper's heap deposits are refused, with what to
// do, and nothing else is.
// Shows: P8
func TestHeapHasALimit(t *testing.T) {
	t.Parallel()
	p := newPresses()
	p.Limits.Heap = 100 << 20
	p.load = eventstore.Load{Batches: 3, Queries: 7, Jobs: 12_000, Heap: 100 << 20}
	err := p.Deposit(t.Context())
	full, is := errors.AsType[*eventstore.FullError](err)
	if !is || full.Have != 100 || full.Max != 100 || full.After == 0 || !strings.Contains(full.Remedy, "zookeeper_heap") ||
		!strings.Contains(err.Error(), "100 MiB of ZooKeeper's heap taken by 3 batches, 7 queries and 12000 jobs") {
		t.Errorf("%v", err)
	}
	if err := p.Admit(t.Context(), moveJob); err != nil {
		t.Errorf("a job does not go on: %v", err)
	}
	p.load.Heap--
	if err := p.Deposit(t.Context()); err != nil {
		t.Errorf("below the limit: %v", err)
	}
}

// TestPressureIsLookedAtInTime: far from a limit hardly ever, near it nearly each
// time; and those who wait go on when it falls. Each change of the level is told
// once.
func TestPressureIsLookedAtInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPresses()
		p.Limits = eventstore.Limits{Warn: 1000, Full: 2000, Stop: 4000, Queue: 100}
		for range 100 {
			_ = p.Admit(t.Context(), moveJob)
		}
		if p.looks != 1 {
			t.Errorf("%d looks far from any limit", p.looks)
		}
		p.set(3990)
		<-time.After(2 * time.Second)
		for range 10 {
			_ = p.Admit(t.Context(), moveJob)
		}
		if p.looks != 1+5 {
			t.Errorf("%d looks near the last limit", p.looks-1)
		}
		p.set(4000)
		<-time.After(2 * time.Second)
		waited := make(chan time.Time)
		go func() { _ = p.Wait(t.Context()); waited <- time.Now() }()
		<-time.After(10 * time.Second)
		p.set(3000)
		begun := time.Now()
		if got := (<-waited).Sub(begun); got > 2*time.Second {
			t.Errorf("went on after %v", got)
		}
		p.set(0)
		<-time.After(2 * time.Second)
		_ = p.Admit(t.Context(), moveJob)
		for _, line := range []string{"no deposits are taken", "nothing is claimed or changed", "the outbox empties"} {
			if n := strings.Count(p.log.String(), line); n != 1 && (line != "the outbox empties" || n != 2) {
				t.Errorf("%q is told %d times:\n%s", line, n, p.log.String())
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.Wait(ctx); err == nil {
			t.Error("it waits without a reason and without an end")
		}
	})
}
