package memory_test

import (
	"context"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

var noon = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

// TestDelay: a job given back for a minute comes back after it by the server's
// clock, here; another session may take it at once.
func TestDelay(t *testing.T) {
	t.Parallel()
	clock := memory.NewManualClock(noon)
	w := memory.New(memory.Options{Clock: clock})
	s, other := w.Session(), w.Session()
	k := storetest.NewKit(t, s)
	k.Started(5)
	c, _, err := s.NextJob(t.Context(), domain.JobPending, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Release(t.Context(), c, time.Minute); err != nil {
		t.Fatal(err)
	}
	if c, _, err = other.NextJob(t.Context(), domain.JobPending, nil); err != nil {
		t.Fatal(err)
	}
	if err := other.Release(t.Context(), c, 0); err != nil {
		t.Fatal(err)
	}
	got := make(chan time.Time)
	go func() {
		_, _, err := s.NextJob(t.Context(), domain.JobPending, nil)
		if err != nil {
			t.Error(err)
		}
		got <- clock.Now()
	}()
	clock.Advance(59 * time.Second)
	clock.Advance(time.Second)
	if at := <-got; at.Sub(noon) != time.Minute {
		t.Errorf("handed out after %v", at.Sub(noon))
	}
}

// TestAge: the age of the oldest unsent item goes by the server's clock.
func TestAge(t *testing.T) {
	t.Parallel()
	clock := memory.NewManualClock(noon)
	s := memory.New(memory.Options{Clock: clock}).Session()
	k := storetest.NewKit(t, s)
	k.Submit()
	clock.Advance(time.Minute)
	k.Submit()
	clock.Advance(time.Second)
	if d, err := s.Depth(t.Context()); err != nil || d != (eventstore.OutboxDepth{Unsent: 2, Oldest: 61 * time.Second}) {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestRetried: a change committed again by the same command succeeds without
// being written twice.
func TestRetried(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{}).Session()
	k := storetest.NewKit(t, s)
	_, jobs := k.Started(5)
	c, at, err := s.NextJob(t.Context(), domain.JobPending, nil)
	if err != nil {
		t.Fatal(err)
	}
	var change eventstore.Change
	h := storetest.NewHandler(recorder{s, &change})
	if _, err := h.Job(t.Context(), jobs[0], domain.AcceptJob{}, storetest.Under(c, false)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		done, err := s.Commit(t.Context(), change)
		if err != nil || done[0].Token != at.Token+1 {
			t.Errorf("%+v, %v", done, err)
		}
	}
	if n := len(k.Events(jobs[0].Aggregate())); n != 2 {
		t.Errorf("%d events, want 2", n)
	}
}

// recorder keeps the last change that was committed.
type recorder struct {
	eventstore.Live
	last *eventstore.Change
}

func (r recorder) Commit(ctx context.Context, changes ...eventstore.Change) ([]eventstore.Committed, error) {
	*r.last = changes[0]
	return r.Live.Commit(ctx, changes...)
}
