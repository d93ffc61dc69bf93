package storetest

import (
	"context"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

func testDeletedJob(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	id, jobs := k.Started(5, 5)
	k.Fail(jobs[0], domain.JobDownloading)
	k.DoJob(jobs[0], domain.DeleteJob{}, Operator())
	_, err := k.Store.Job(t.Context(), jobs[0])
	k.WantErr(err, eventstore.ErrNotFound)
	_, err = k.Handler.Job(t.Context(), jobs[0], domain.RequeueJob{}, Operator())
	k.WantErr(err, eventstore.ErrNotFound)
	if refs := must[eventstore.Refs](k)(k.Store.Refs(t.Context(), id)); refs != (eventstore.Refs{Processing: 1}) {
		t.Errorf("references after the deletion: %+v", refs)
	}
	k.never("a deleted job is handed out", func(ctx context.Context) error {
		_, _, err := k.Store.NextJob(ctx, domain.JobFailed, nil)
		return err
	})
}

// testDeletedBatch: a batch deleted by an operator stays readable until all its
// jobs are deleted, each with its event, and it is removed.
func testDeletedBatch(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	id, jobs := k.Started(5, 5)
	kept := k.Submit()
	k.unchanged(eventstore.ErrConflict, func() error { return k.Store.Remove(t.Context(), kept) })
	k.Fail(jobs[0], domain.JobDownloading)
	k.Fail(jobs[1], domain.JobPending)
	k.WantErr(k.Store.Remove(t.Context(), id), eventstore.ErrConflict)
	k.Reported(id)
	k.DoBatch(id, domain.DeleteBatch{}, Operator())
	if s := k.Batch(id).State.State; s != domain.BatchDeleted {
		t.Errorf("the batch is %s", s)
	}
	k.DoJob(jobs[0], domain.DeleteJobWithBatch{}, Operator())
	k.WantErr(k.Store.Remove(t.Context(), id), eventstore.ErrConflict)
	k.DoJob(jobs[1], domain.DeleteJobWithBatch{}, Operator())
	if err := k.Store.Remove(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	_, err := k.Store.Batch(t.Context(), id)
	k.WantErr(err, eventstore.ErrNotFound)
	if ids := must[[]domain.BatchID](k)(k.Store.Batches(t.Context())); len(ids) != 1 || ids[0] != kept {
		t.Errorf("batches left: %v", ids)
	}
	for _, j := range jobs {
		if events := k.Events(j.Aggregate()); events[len(events)-1].Type != domain.EventJobDeleted {
			t.Errorf("the last event of %s is %s", j, events[len(events)-1].Type)
		}
	}
}

// testCleanedBatch: a cleaned batch takes its jobs along, without events.
// Shows: P8
func testCleanedBatch(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	id, jobs := k.Started(5, 5, 5)
	for _, j := range jobs {
		k.Walk(j, domain.JobCompleted)
	}
	k.DoJob(jobs[0], domain.CleanJob{}, Operator())
	k.Reported(id)
	k.DoBatch(id, domain.CleanBatch{}, Operator())
	before := len(k.Events(jobs[0].Aggregate()))
	if err := k.Store.Remove(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		_, err := k.Store.Job(t.Context(), j)
		k.WantErr(err, eventstore.ErrNotFound)
	}
	if after := len(k.Events(jobs[0].Aggregate())); after != before {
		t.Errorf("clean-up wrote %d events of a job", after-before)
	}
	k.never("a removed job is handed out", func(ctx context.Context) error {
		_, _, err := k.Store.NextJob(ctx, domain.JobCompleted, nil)
		return err
	})
}

func testRemoveTwice(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	id, jobs := k.Started(5)
	k.Walk(jobs[0], domain.JobCompleted)
	k.Reported(id)
	k.DoBatch(id, domain.CleanBatch{}, Operator())
	for _, s := range []Store{k.Store, other.Store, k.Store} {
		if err := s.Remove(t.Context(), id); err != nil {
			t.Errorf("removed before: %v", err)
		}
	}
}
