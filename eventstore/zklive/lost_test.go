//go:build !race

// The ZooKeeper client has a data race of its own when it connects again to a
// session that has watches (it reads its last zxid while answers set it). These
// tests make it do so; `make test` runs them without the race detector.

package zklive_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// lostWorld is a store behind a line that loses what it is told to, and another
// that looks at the tree by itself.
type lostWorld struct {
	*line
	store, other *zklive.Store
	kit          *storetest.Kit
}

func newLostWorld(t *testing.T) *lostWorld {
	t.Helper()
	w := &world{root: "/test-" + uuid.NewString()}
	l := newLine(t)
	other := w.open(t, zklive.Config{Shards: 1})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := other.Destroy(ctx); err != nil {
			t.Errorf("remove the test's tree: %v", err)
		}
	})
	s, err := zklive.Open(t.Context(), zklive.Config{Servers: []string{l.address()}, Root: w.root, SessionTimeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &lostWorld{line: l, store: s, other: other, kit: storetest.NewKit(t, other)}
}

// changes are one write of each kind: an update, a creation, and a setting, which
// has no command in its node.
var changes = map[string]func(ctx context.Context, h *eventstore.Handler, batch domain.BatchID, job domain.JobID) error{
	"job": func(ctx context.Context, h *eventstore.Handler, _ domain.BatchID, job domain.JobID) error {
		_, err := h.Job(ctx, job, domain.AcceptJob{}, eventstore.Order{Actor: "test"})
		return err
	},
	"batch made": func(ctx context.Context, h *eventstore.Handler, _ domain.BatchID, _ domain.JobID) error {
		_, err := h.Batch(ctx, domain.NewBatchID(77), domain.SubmitBatch{Submission: storetest.Submission()}, eventstore.Order{Actor: "test"})
		return err
	},
	"job deleted": func(ctx context.Context, h *eventstore.Handler, _ domain.BatchID, job domain.JobID) error {
		if _, err := h.Job(ctx, job.Plus(1), domain.DeleteJob{}, eventstore.Order{Actor: "test"}); err != nil {
			return err
		}
		return nil
	},
	"hold": func(ctx context.Context, h *eventstore.Handler, _ domain.BatchID, _ domain.JobID) error {
		_, err := h.Hold(ctx, domain.HoldCollection, "maps", &domain.Hold{By: "test"}, "", eventstore.Order{Actor: "test"})
		return err
	},
}

// TestLostAnswer loses the answer to a write that was applied, and the write
// itself. Either way it is there once in the end, and nobody hears of an error.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	for name, change := range changes {
		for _, applied := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/applied=%v", name, applied), func(t *testing.T) {
				t.Parallel()
				w := newLostWorld(t)
				batch, jobs := w.kit.Started(5, 5)
				w.kit.Fail(jobs[1], domain.JobDownloading)
				h := handlerOf(w.store)
				if _, err := w.store.Holds(t.Context()); err != nil { // known, so that the next request is the write
					t.Fatal(err)
				}
				before, _ := w.events(t)
				w.lose(applied)
				done := make(chan error, 1)
				go func() { done <- change(t.Context(), h, batch, jobs[0]) }()
				if applied {
					w.awaitEvents(t, before+1)
				} else {
					<-w.lost
				}
				w.mend()
				if err := <-done; err != nil {
					t.Fatalf("the outcome was not found out: %v", err)
				}
				if got, _ := w.events(t); got != before+1 {
					t.Errorf("%d events were written, want 1", got-before)
				}
			})
		}
	}
}

// TestReleaseOutlastsAnOutage gives a claim back while ZooKeeper cannot be
// reached, and nobody waits for it: the lock must not stay for ever.
func TestReleaseOutlastsAnOutage(t *testing.T) {
	t.Parallel()
	w := newLostWorld(t)
	_, jobs := w.kit.Started(5)
	c, _, err := w.store.ClaimJob(t.Context(), jobs[0])
	if err != nil {
		t.Fatal(err)
	}
	w.cut()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := w.store.Release(ctx, c, 0); err == nil {
		t.Error("released without ZooKeeper")
	}
	w.mend()
	other, _, err := w.other.NextJob(t.Context(), domain.JobPending)
	if err != nil || other.Aggregate != c.Aggregate {
		t.Fatal(other, err)
	}
}

// events counts the events in the outbox, and tells where the last of them is.
func (w *lostWorld) events(t *testing.T) (n int, last eventstore.Position) {
	t.Helper()
	items, err := w.other.Read(t.Context(), 0, eventstore.Position{}, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range items {
		n, last = n+len(it.Events), it.Position
	}
	return n, last
}

func (w *lostWorld) awaitEvents(t *testing.T, want int) {
	t.Helper()
	for {
		n, last := w.events(t)
		if n >= want {
			return
		}
		if err := w.other.Wait(t.Context(), 0, last); err != nil {
			t.Fatal(err)
		}
	}
}
