package storetest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

var deletionTests = tests{
	"deletion while locked":    testDeletionWhileLocked,
	"no claim after deletion":  testNoClaimAfterDeletion,
	"deletion against a claim": testDeletionAgainstClaim,
	"deletion finished":        testFinishDeletion,
	"deletion in vain":         testDeletionInVain,
	"dry run":                  testDryRun,
}

// requeued makes a failed batch of n jobs that were all requeued.
func (k *Kit) requeued(n int) (domain.BatchID, []domain.JobID) {
	k.Helper()
	id, jobs := k.Started(make([]int, n)...)
	for _, j := range jobs {
		k.Fail(j, domain.JobDownloading)
	}
	k.Reported(id)
	for _, j := range jobs {
		k.DoJob(j, domain.RequeueJob{}, Operator())
	}
	return id, jobs
}

func (k *Kit) gone(id domain.BatchID) bool {
	_, err := k.Store.Batch(k.Context(), id)
	return errors.Is(err, eventstore.ErrNotFound)
}

func noWork(domain.Job) error { return nil }

// testDeletionWhileLocked: a batch is not deleted while a job of it is worked on,
// neither by the rules nor, when the decision is outdated, by the write.
func testDeletionWhileLocked(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	id, jobs := k.requeued(2)
	c, _, err := other.Store.ClaimJob(t.Context(), jobs[1])
	if err != nil {
		t.Fatal(err)
	}
	locked := must[[]domain.Aggregate](k)(k.Store.Locked(t.Context(), id.Aggregate(), jobs[0].Aggregate(), jobs[1].Aggregate()))
	if len(locked) != 1 || locked[0] != jobs[1].Aggregate() {
		t.Errorf("locked are %v", locked)
	}
	_, err = k.Handler.Batch(t.Context(), id, domain.DeleteBatch{}, Operator())
	k.WantRefused(err, domain.CodeJobsLocked)
	for name, f := range map[string]domain.Facts{
		"before the claim":       {Open: jobs},
		"before the requeue":     {},
		"before another requeue": {Open: jobs[:1]},
	} {
		t.Log("decided", name)
		k.unchanged(eventstore.ErrConflict, k.commit(batchChange(k, k.Batch(id), domain.DeleteBatch{}, f)), jobs...)
	}
	other.release(c)
	k.unchanged(eventstore.ErrConflict, k.commit(batchChange(k, k.Batch(id), domain.DeleteBatch{}, domain.Facts{Open: jobs[:1]})), jobs...)
	k.DoBatch(id, domain.DeleteBatch{}, Operator())
	if refs := must[eventstore.Refs](k)(k.Store.Refs(t.Context(), id)); refs != (eventstore.Refs{Processing: 2}) {
		t.Errorf("the proof changed the references to %+v", refs)
	}
}

// testNoClaimAfterDeletion: also for who has claimed jobs of the batch before.
func testNoClaimAfterDeletion(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	id, jobs := k.requeued(2)
	for _, x := range []*Kit{k, other} {
		c, _ := x.next(domain.JobDownloading)
		x.release(c)
	}
	k.DoBatch(id, domain.DeleteBatch{}, Operator())
	refused := func() {
		t.Helper()
		for _, x := range []*Kit{k, other} {
			_, _, err := x.Store.ClaimJob(t.Context(), jobs[0])
			x.WantErr(err, eventstore.ErrNotFound)
			x.never("a job of a deleted batch is handed out", func(ctx context.Context) error {
				_, _, err := x.Store.NextJob(ctx, domain.JobDownloading, nil)
				return err
			})
		}
	}
	refused()
	if err := k.Handler.FinishDeletion(t.Context(), id, Operator(), noWork); err != nil {
		t.Fatal(err)
	}
	refused()
}

// testDeletionAgainstClaim: of a deletion and a claim at the same moment one wins.
func testDeletionAgainstClaim(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	for range 15 {
		id, jobs := k.requeued(1)
		var claimed *eventstore.Claim
		var claimErr, deleteErr error
		var both sync.WaitGroup
		both.Go(func() { claimed, _, claimErr = other.Store.ClaimJob(t.Context(), jobs[0]) })
		both.Go(func() { _, deleteErr = k.Handler.Batch(t.Context(), id, domain.DeleteBatch{}, Operator()) })
		both.Wait()
		var refused *domain.Refused
		switch {
		case claimErr == nil && errors.As(deleteErr, &refused) && refused.Code == domain.CodeJobsLocked:
			other.DoJob(jobs[0], domain.FailJob{Reason: Broken()}, Under(claimed, false))
		case deleteErr == nil && errors.Is(claimErr, eventstore.ErrNotFound):
		default:
			t.Fatalf("claim: %v, deletion: %v", claimErr, deleteErr)
		}
	}
}

// testFinishDeletion: a job that is locked is left alone, with its directory, and
// goes as soon as it is free.
func testFinishDeletion(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	id, jobs := k.Started(5, 5, 5)
	k.Fail(jobs[0], domain.JobDownloading)
	k.Walk(jobs[1], domain.JobCompleted)
	k.Walk(jobs[2], domain.JobCompleted)
	k.Reported(id)
	c, _, err := other.Store.ClaimJob(t.Context(), jobs[1]) // the clean-up, in the same moment
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Store.Commit(t.Context(), batchChange(k, k.Batch(id), domain.DeleteBatch{}, domain.Facts{})); err != nil {
		t.Fatal(err)
	}
	removed := map[domain.JobID]int{}
	var mu sync.Mutex
	finish := func() error {
		return k.Handler.FinishDeletion(t.Context(), id, Operator(), func(j domain.Job) error {
			mu.Lock()
			defer mu.Unlock()
			removed[j.ID]++
			return nil
		})
	}
	k.WantErr(finish(), eventstore.ErrLocked)
	if removed[jobs[1]] != 0 {
		t.Error("the directory of a locked job was removed")
	}
	k.Job(jobs[1])
	other.release(c)
	for range 2 { // the second time there is nothing left to do
		if err := finish(); err != nil {
			t.Fatal(err)
		}
	}
	for _, j := range jobs {
		if events := k.Events(j.Aggregate()); removed[j] != 1 || events[len(events)-1].Type != domain.EventJobDeleted {
			t.Errorf("%s: directory removed %d times, last event %s", j, removed[j], events[len(events)-1].Type)
		}
	}
	if !k.gone(id) {
		t.Error("the batch is still there")
	}
}

// testDryRun: what is only tried is decided and changes nothing.
func testDryRun(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	id, jobs := k.Started(5)
	k.Fail(jobs[0], domain.JobDownloading)
	k.Reported(id)
	try := Operator()
	try.DryRun = true
	k.unchanged(nil, func() error {
		res, err := k.Handler.Batch(t.Context(), id, domain.DeleteBatch{}, try)
		if res.Row != "B11" || res.Before.State != domain.BatchFailed || res.State.State != domain.BatchDeleted {
			t.Errorf("%+v", res)
		}
		return err
	}, jobs...)
	k.unchanged(nil, func() error {
		res, err := k.Handler.Job(t.Context(), jobs[0], domain.RequeueJob{}, try)
		if res.Row != "J16" || res.Before.State != domain.JobFailed || res.State.RetryCount != 1 {
			t.Errorf("%+v", res)
		}
		return err
	}, jobs...)
	k.unchanged(nil, func() error {
		res, err := k.Handler.Hold(t.Context(), domain.HoldCollection, Profile, &domain.Hold{By: "ana"}, "", try)
		if res.State.Hold == nil || res.Before.Hold != nil {
			t.Errorf("%+v", res)
		}
		return err
	})
	if h := must[eventstore.Holds](k)(k.Store.Holds(t.Context())); len(h.Collections) != 0 {
		t.Errorf("holds %+v", h)
	}
	if _, _, err := other.Store.ClaimJob(t.Context(), jobs[0]); err != nil {
		t.Fatal(err)
	}
	_, err := k.Handler.Job(t.Context(), jobs[0], domain.RequeueJob{}, try)
	k.WantErr(err, eventstore.ErrLocked)
	_, err = k.Handler.Batch(t.Context(), id, domain.RequestUpdate{}, try)
	k.WantErr(err, nil)
	_, err = k.Handler.Batch(t.Context(), id, domain.CleanBatch{Why: "asked for"}, try)
	k.WantRefused(err, domain.CodeIllegal)
}

// testDeletionInVain: of jobs that cannot go the first few are told, the others
// counted.
func testDeletionInVain(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	const n = 12
	id, jobs := k.Started(make([]int, n)...)
	for _, j := range jobs {
		k.Fail(j, domain.JobPending)
	}
	k.Reported(id)
	k.DoBatch(id, domain.DeleteBatch{}, Operator())
	full := errors.New("the disk says no")
	err := k.Handler.FinishDeletion(t.Context(), id, Operator(), func(domain.Job) error { return full })
	k.WantErr(err, full)
	if said := err.Error(); strings.Count(said, full.Error()) != 3 || !strings.HasSuffix(said, "\nand 9 more") {
		t.Errorf("of %d jobs that cannot go it says:\n%s", n, said)
	}
	if err := k.Handler.FinishDeletion(t.Context(), id, Operator(), noWork); err != nil || !k.gone(id) {
		t.Errorf("tried again: %v", err)
	}
}
