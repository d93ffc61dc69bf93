package zklive_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// TestGoneJobsAreForgotten: when jobs have gone, and the log has told so, no queue of a
// process keeps anything of them.
// Shows: P8
func TestGoneJobsAreForgotten(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	k := storetest.NewKit(t, w.store)
	batch, jobs := k.Started(slices.Repeat([]int{5}, 20)...)
	for range jobs {
		c, at, err := w.store.NextJob(t.Context(), domain.JobPending, nil)
		if err != nil {
			t.Fatal(err)
		}
		k.DoJob(at.State.ID, domain.FailJob{Reason: storetest.Broken()}, storetest.Under(c, false))
	}
	if kept := w.store.Remembered(); kept < len(jobs) {
		t.Fatalf("%d things are known of %d jobs: what is counted here has gone", kept, len(jobs))
	}
	k.Reported(batch)
	k.DoBatch(batch, domain.DeleteBatch{}, storetest.Operator())
	if err := k.Handler.FinishDeletion(t.Context(), batch, storetest.Operator(), func(domain.Job) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for _, items := range k.Outbox() {
		for _, it := range items {
			for _, e := range it.Events {
				w.store.Observe(e)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, at, err := w.store.NextJob(ctx, domain.JobPending, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%s was given out (%v)", at.State.ID, err)
	}
	if kept := w.store.Remembered(); kept > 0 {
		t.Errorf("%d things are kept of jobs that have gone", kept)
	}
}

// TestCleanedJobsAreForgotten: the jobs that go with their cleaned batch have no news of
// their own.
// Shows: P8
func TestCleanedJobsAreForgotten(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	k := storetest.NewKit(t, w.store)
	batch, jobs := k.Started(5, 5, 5)
	for _, j := range jobs {
		k.Walk(j, domain.JobCompleted)
	}
	k.Reported(batch)
	k.DoBatch(batch, domain.CleanBatch{}, storetest.Operator())
	if kept := w.store.Remembered(); kept < len(jobs) {
		t.Fatalf("%d things are known of %d jobs: what is counted here has gone", kept, len(jobs))
	}
	if err := w.store.Remove(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if kept := w.store.Remembered(); kept > 0 {
		t.Errorf("%d things are kept of jobs that have gone", kept)
	}
}

// TestGoneBatchesAreForgotten: a process that looks for batches keeps nothing of those that
// another one has removed, whatever their state was.
// Shows: P8
func TestGoneBatchesAreForgotten(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	k := storetest.NewKit(t, w.store)
	var completed []domain.BatchID
	for range 5 {
		batch, jobs := k.Started(5)
		k.Walk(jobs[0], domain.JobCompleted)
		k.Reported(batch)
		completed = append(completed, batch)
	}
	open, _ := k.Started(5)
	other := w.open(t, zklive.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, _, err := other.NextBatch(ctx, domain.BatchPending, nil)
		ended <- err
	}()
	follows := func(n int) {
		t.Helper()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for end := time.Now().Add(time.Minute); other.Followed() != n; <-tick.C {
			if time.Now().After(end) {
				t.Fatalf("it follows %d batches, want %d", other.Followed(), n)
			}
		}
	}
	follows(len(completed) + 1)
	for _, batch := range completed {
		k.DoBatch(batch, domain.CleanBatch{}, storetest.Operator())
		if err := w.store.Remove(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	follows(1)
	if b, err := other.Batch(t.Context(), open); err != nil || b.State.State != domain.BatchProcessing {
		t.Errorf("%+v, %v", b.State, err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
