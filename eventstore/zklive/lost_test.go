//go:build !race

// The ZooKeeper client has a data race of its own when it connects again to a
// session that has watches (it reads its last zxid while answers set it). These
// tests make it do so; `make test` runs them without the race detector.

package zklive_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
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

func newLostWorld(t *testing.T, cfg zklive.Config) *lostWorld {
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
	cfg.Servers, cfg.Root, cfg.SessionTimeout = []string{l.address()}, w.root, 20*time.Second
	s, err := zklive.Open(t.Context(), cfg)
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
				w := newLostWorld(t, positions["fast"])
				batch, jobs := w.kit.Started(5, 5)
				w.kit.Fail(jobs[1], domain.JobDownloading)
				h := handlerOf(w.store)
				if _, err := w.store.Holds(t.Context()); err != nil { // known, so that the next request is the write
					t.Fatal(err)
				}
				before, _ := w.events(t)
				w.lose(applied, aWrite)
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

// TestLostAnswersTogether loses the answers to writes that many sent at the same
// moment, and the writes themselves. Each is there once in the end.
func TestLostAnswersTogether(t *testing.T) {
	t.Parallel()
	for _, applied := range []bool{true, false} {
		t.Run(fmt.Sprintf("applied=%v", applied), func(t *testing.T) {
			t.Parallel()
			w := newLostWorld(t, positions["fast"])
			_, jobs := w.kit.Started(slices.Repeat([]int{5}, 40)...)
			h := handlerOf(w.store)
			if _, err := w.store.Holds(t.Context()); err != nil {
				t.Fatal(err)
			}
			known := make([]eventstore.At[domain.Job], len(jobs)) // so that the first large request is a write
			for i, j := range jobs {
				known[i] = w.kit.Job(j)
			}
			before, _ := w.events(t)
			w.lose(applied, aWrite)
			var all sync.WaitGroup
			for i, j := range jobs {
				all.Go(func() {
					if _, err := h.Job(t.Context(), j, domain.AcceptJob{}, eventstore.Order{Actor: "test", Known: &known[i]}); err != nil {
						t.Errorf("%s: the outcome was not found out: %v", j, err)
					}
				})
			}
			if applied {
				w.awaitEvents(t, before+1)
			} else {
				<-w.lost
			}
			w.mend()
			all.Wait()
			if got, _ := w.events(t); got != before+len(jobs) {
				t.Errorf("%d events were written, want %d", got-before, len(jobs))
			}
			for _, j := range jobs {
				if now := w.kit.Job(j).State; now.State != domain.JobEstimating || now.Version != 2 {
					t.Errorf("%s is %s at version %d", j, now.State, now.Version)
				}
			}
		})
	}
}

// TestLostHandOver loses the answer to a hand-over, and the hand-over itself. In the
// end the worker has the job in its next state, locked, and goes on.
func TestLostHandOver(t *testing.T) {
	t.Parallel()
	for _, applied := range []bool{true, false} {
		t.Run(fmt.Sprintf("applied=%v", applied), func(t *testing.T) {
			t.Parallel()
			w := newLostWorld(t, positions["fast"])
			_, jobs := w.kit.Started(5, 5)
			for i, to := range []domain.JobState{domain.JobProvisioning, domain.JobDownloading} {
				w.kit.Walk(jobs[i], to)
			}
			h, order := handlerOf(w.store), eventstore.Order{Actor: "test", Next: domain.JobDownloading}
			if _, _, err := w.store.NextJob(t.Context(), domain.JobDownloading); err != nil { // it works there
				t.Fatal(err)
			}
			c, at, err := w.store.ClaimJob(t.Context(), jobs[0])
			if err != nil {
				t.Fatal(err)
			}
			order.Claim, order.Known = c, &at
			before, _ := w.events(t)
			w.lose(applied, aWrite)
			type outcome struct {
				r   eventstore.Result[domain.Job]
				err error
			}
			done := make(chan outcome, 1)
			go func() {
				r, err := h.Job(t.Context(), jobs[0], domain.ProvisionJob{}, order)
				done <- outcome{r, err}
			}()
			if applied {
				w.awaitEvents(t, before+1)
			} else {
				<-w.lost
			}
			w.mend()
			out := <-done
			if out.err != nil || out.r.Claim == nil {
				t.Fatalf("claim %v, %v", out.r.Claim, out.err)
			}
			if held, err := w.other.Locked(t.Context(), jobs[0].Aggregate()); err != nil || len(held) != 1 {
				t.Errorf("it is not locked (%v)", err)
			}
			if _, err := h.Job(t.Context(), jobs[0], domain.DownloadJob{Files: 1, Priority: 5}, eventstore.Order{Actor: "test", Claim: out.r.Claim}); err != nil {
				t.Error(err)
			}
			if held, err := w.other.Locked(t.Context(), jobs[0].Aggregate()); err != nil || len(held) != 0 {
				t.Errorf("it is still locked (%v)", err)
			}
		})
	}
}

// TestReleaseOutlastsAnOutage gives a claim back while ZooKeeper cannot be
// reached, and nobody waits for it: the lock must not stay for ever.
func TestReleaseOutlastsAnOutage(t *testing.T) {
	t.Parallel()
	w := newLostWorld(t, positions["fast"])
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

// TestLostClaimLeavesTheLockOfAnother sends a claim that never arrives. Another
// process takes the job meanwhile; its lock must outlive what the first does to
// find out.
func TestLostClaimLeavesTheLockOfAnother(t *testing.T) {
	t.Parallel()
	w := newLostWorld(t, positions["fast"])
	_, jobs := w.kit.Started(5)
	if _, err := w.store.Holds(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.lose(false, aClaim)
	claimed := make(chan error, 1)
	go func() { _, _, err := w.store.ClaimJob(t.Context(), jobs[0]); claimed <- err }()
	<-w.lost
	if _, _, err := w.other.ClaimJob(t.Context(), jobs[0]); err != nil {
		t.Fatal(err)
	}
	w.mend()
	if err := <-claimed; err == nil {
		t.Fatal("claimed what another holds")
	}
	for w.store.Holding(jobs[0].Aggregate()) {
		if _, err := w.other.Job(t.Context(), jobs[0]); err != nil {
			t.Fatal(err)
		}
	}
	if held, err := w.other.Locked(t.Context(), jobs[0].Aggregate()); err != nil || len(held) != 1 {
		t.Errorf("the lock of the other is gone (%v)", err)
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
