package zklive_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/storetest"
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
