package storetest

import (
	"context"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/relay"
)

// listLog is a log in memory that tells whenever it has grown.
type listLog struct {
	eventstore.Log // what a relay does not ask for

	mu     sync.Mutex
	events []domain.Recorded
	last   map[domain.Aggregate]eventstore.LastEvent
	grown  chan struct{}
}

func newListLog() *listLog {
	return &listLog{last: map[domain.Aggregate]eventstore.LastEvent{}, grown: make(chan struct{}, 1)}
}

func (l *listLog) Append(_ context.Context, events []eventstore.Append) ([]uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := map[domain.Aggregate]bool{}
	for _, e := range events {
		if a := e.Event.Aggregate; !seen[a] {
			if seen[a] = true; l.last[a].Seq != e.ExpectSeq {
				return nil, eventstore.ErrConflict
			}
		}
	}
	var seqs []uint64
	for _, e := range events {
		l.events = append(l.events, e.Event)
		seqs = append(seqs, uint64(len(l.events)))
		l.last[e.Event.Aggregate] = eventstore.LastEvent{Version: e.Event.Version, Seq: uint64(len(l.events)), CommandID: e.Event.CommandID}
	}
	select {
	case l.grown <- struct{}{}:
	default:
	}
	return seqs, nil
}

func (l *listLog) Last(_ context.Context, a domain.Aggregate) (eventstore.LastEvent, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[a], nil
}

// all returns the events so far.
func (l *listLog) all() iter.Seq[domain.Recorded] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Values(slices.Clone(l.events))
}

// testRelayed: whatever process writes and whatever process carries, also when
// that changes, the log gets every event once and those of a batch and its jobs in
// the order of their commits.
func testRelayed(t *testing.T, env Env) {
	kits := []*Kit{NewKit(t, env.Open(t)), NewKit(t, env.Open(t))}
	log := newListLog()
	want := 0
	for round := range 3 {
		ctx, stop := context.WithCancel(t.Context())
		carrier := &relay.Relay{Outbox: kits[round%2].Store, Log: log}
		ended := make(chan error, 1)
		go func() { ended <- carrier.Run(ctx) }()
		batch, jobs := kits[0].Started(slices.Repeat([]int{5}, 12)...)
		var all sync.WaitGroup
		for i, j := range jobs {
			all.Go(func() { live(t, kits[i%2], j) })
		}
		all.Wait()
		want += 3 + 8*len(jobs) // of the batch: submitted, listed, started
		for {
			if n := len(slices.Collect(log.all())); n >= want {
				break
			}
			select {
			case <-log.grown:
			case <-t.Context().Done():
				t.Fatal("the log does not get the events of " + string(batch))
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	commits, versions, n := map[domain.BatchID]int64{}, map[domain.Aggregate]int64{}, 0
	for e := range log.all() {
		n++
		if e.Zxid < commits[e.BatchID] || e.Version != versions[e.Aggregate]+1 || e.Epoch == 0 {
			t.Errorf("%s of commit %d and epoch %d came after commit %d and version %d", e.ID(), e.Zxid, e.Epoch, commits[e.BatchID], versions[e.Aggregate])
		}
		commits[e.BatchID], versions[e.Aggregate] = e.Zxid, e.Version
	}
	if n != want {
		t.Errorf("%d events are in the log, want %d", n, want)
	}
}

// live takes a job from pending to completed.
func live(t *testing.T, by *Kit, id domain.JobID) {
	for state := domain.JobPending; state != domain.JobCompleted; {
		r, err := by.Handler.Job(t.Context(), id, Step(domain.Job{State: state, Priority: 5}), Operator())
		if err != nil {
			t.Error(err)
			return
		}
		state = r.State.State
	}
}
