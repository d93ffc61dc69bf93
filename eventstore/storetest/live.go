package storetest

import (
	"slices"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

var liveTests = tests{
	"every row":        testRows,
	"unknown ids":      testUnknown,
	"create twice":     testCreateTwice,
	"stale token":      testStaleToken,
	"all or nothing":   testAllOrNothing,
	"together":         testTogether,
	"written again":    testWrittenAgain,
	"ids":              testIDs,
	"holds":            testHolds,
	"settings":         testSettings,
	"timeouts":         testTimeouts,
	"profiles":         testProfiles,
	"queue settings":   testQueueSettings,
	"queue events":     testQueueSettingEvents,
	"require holds":    testRequireHolds,
	"require batch":    testRequireBatch,
	"require unlocked": testRequireUnlocked,
	"require empty":    testRequireEmpty,
	"progress":         testProgress,
	"deleted job":      testDeletedJob,
	"deleted batch":    testDeletedBatch,
	"cleaned batch":    testCleanedBatch,
	"removed twice":    testRemoveTwice,
}

func testUnknown(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	ctx := t.Context()
	_, err := k.Store.Batch(ctx, domain.NewBatchID(99))
	k.WantErr(err, eventstore.ErrNotFound)
	_, err = k.Store.Job(ctx, domain.NewJobID(99))
	k.WantErr(err, eventstore.ErrNotFound)
	k.WantErr(err, eventstore.ErrConflict)
	_, _, err = k.Store.ClaimJob(ctx, domain.NewJobID(99))
	k.WantErr(err, eventstore.ErrNotFound)
	_, _, err = k.Store.ClaimBatch(ctx, domain.NewBatchID(99))
	k.WantErr(err, eventstore.ErrNotFound)
	at, err := k.Store.Setting(ctx, domain.HoldCollection, "never-set")
	if err != nil || at.State.Version != 0 || at.Token != 0 || at.State.Hold != nil || at.State.Name != "never-set" {
		t.Errorf("a setting that was never set: %+v, %v", at, err)
	}
	at, err = k.Store.Setting(ctx, domain.SettingAudit, domain.AuditMaintenance)
	if err != nil || at.State != domain.Audit(0) || at.Token != 0 {
		t.Errorf("maintenance that never was: %+v, %v", at, err)
	}
	if refs, err := k.Store.Refs(ctx, domain.NewBatchID(99)); refs != (eventstore.Refs{}) {
		t.Errorf("an unknown batch has %+v (%v)", refs, err)
	}
	if ids := must[[]domain.BatchID](k)(k.Store.Batches(ctx)); len(ids) != 0 {
		t.Errorf("a new live state has %v", ids)
	}
}

// batchChange decides a command about a batch on what was read before.
func batchChange(k *Kit, at eventstore.Loaded[domain.Batch], cmd domain.BatchCommand, f domain.Facts) eventstore.Change {
	k.Helper()
	dec := must[domain.Decision](k)(domain.DecideBatch(at.State, cmd, f))
	r := domain.Recorded{Event: dec.Events[0], BatchID: at.State.ID, Actor: "user/ana", CommandID: k.Handler.NewID()}
	after := must[domain.Batch](k)(domain.EvolveBatch(at.State, r))
	return eventstore.Change{Batch: &eventstore.Transition[domain.Batch]{From: at.State, To: after}, Token: at.Token,
		Events: []domain.Recorded{r}, Require: dec.Require}
}

// jobChange decides a command about a job on what was read before.
func jobChange(k *Kit, at eventstore.Loaded[domain.Job], cmd domain.JobCommand, f domain.Facts) eventstore.Change {
	k.Helper()
	dec := must[domain.Decision](k)(domain.DecideJob(at.State, cmd, f))
	batch := at.State.Configuration.BatchID
	if c, ok := cmd.(domain.CreateJob); ok {
		batch = c.Configuration.BatchID
	}
	r := domain.Recorded{Event: dec.Events[0], BatchID: batch, Actor: "user/ana", CommandID: k.Handler.NewID()}
	after := must[domain.Job](k)(domain.EvolveJob(at.State, r))
	return eventstore.Change{Job: &eventstore.Transition[domain.Job]{From: at.State, To: after}, Token: at.Token,
		Events: []domain.Recorded{r}, Require: dec.Require}
}

// unchanged runs f, which must fail with want and leave these jobs, the batches
// and the outbox as they are.
func (k *Kit) unchanged(want error, f func() error, jobs ...domain.JobID) {
	k.Helper()
	picture := func() string {
		var all []any
		for _, id := range must[[]domain.BatchID](k)(k.Store.Batches(k.Context())) {
			all = append(all, k.Batch(id), must[eventstore.Refs](k)(k.Store.Refs(k.Context(), id)))
		}
		for _, id := range jobs {
			all = append(all, k.Job(id))
		}
		for _, items := range k.Outbox() {
			all = append(all, len(items))
		}
		return text(all)
	}
	before := picture()
	k.WantErr(f(), want)
	if after := picture(); after != before {
		k.Fatalf("a refused write changed\n%s\nto\n%s", before, after)
	}
}

func (k *Kit) commit(changes ...eventstore.Change) func() error {
	return func() error { _, err := k.Store.Commit(k.Context(), changes...); return err }
}

func testCreateTwice(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	id, jobs := k.Started(5)
	k.unchanged(eventstore.ErrConflict, k.commit(batchChange(k, eventstore.Loaded[domain.Batch]{State: domain.Batch{ID: id}}, domain.SubmitBatch{}, domain.Facts{})))
	k.unchanged(eventstore.ErrConflict, k.commit(jobChange(k, eventstore.Loaded[domain.Job]{State: domain.Job{ID: jobs[0]}}, Create(id, 0, 9), domain.Facts{})), jobs[0])
}

// Shows: P2
func testStaleToken(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	id, jobs := k.Started(5)
	stale, staleBatch := k.Job(jobs[0]), k.Batch(id)
	other.Walk(jobs[0], domain.JobCompleted)
	other.DoBatch(id, domain.BeginReport{}, Operator())
	k.unchanged(eventstore.ErrConflict, k.commit(jobChange(k, stale, domain.FailJob{Reason: Broken()}, domain.Facts{})), jobs[0])
	k.unchanged(eventstore.ErrConflict, k.commit(batchChange(k, staleBatch, domain.BeginReport{}, domain.Facts{})))
	// A job that changed in its place: nothing but its status tells.
	_, jobs = k.Started(5)
	stale = k.Job(jobs[0])
	other.DoJob(jobs[0], domain.WaitJob{Reason: Broken()}, Operator())
	k.unchanged(eventstore.ErrConflict, k.commit(jobChange(k, stale, domain.FailJob{Reason: Broken()}, domain.Facts{})), jobs[0])
	// Each write gives the token with which the next one succeeds.
	at := k.Job(jobs[0])
	done := must[[]eventstore.Committed](k)(k.Store.Commit(t.Context(), jobChange(k, at, domain.ReprioritiseJob{Priority: 1}, domain.Facts{})))
	if now := k.Job(jobs[0]); now.Token != done[0].Token || now.Token == at.Token || done[0].Zxid == 0 {
		t.Errorf("token %d became %d, said %+v", at.Token, now.Token, done[0])
	}
}

// Shows: P2
func testAllOrNothing(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	_, jobs := k.Started(5, 5, 5)
	var changes []eventstore.Change
	for _, j := range jobs {
		changes = append(changes, jobChange(k, k.Job(j), domain.FailJob{Reason: Broken()}, domain.Facts{}))
	}
	k.DoJob(jobs[2], domain.ReprioritiseJob{Priority: 1}, Operator())
	k.unchanged(eventstore.ErrConflict, k.commit(changes...), jobs...)
	if _, err := k.Store.Commit(t.Context(), changes[:2]...); err != nil {
		t.Fatal(err)
	}
	for i, want := range []domain.JobState{domain.JobFailed, domain.JobFailed, domain.JobPending} {
		if s := k.Job(jobs[i]).State.State; s != want {
			t.Errorf("job %d is %s, want %s", i, s, want)
		}
	}
}

// testWrittenAgain: a change that was written is never written twice, whether
// the store recognises it or refuses it.
// Shows: P2
func testWrittenAgain(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	change := jobChange(k, k.Job(jobs[0]), domain.FailJob{Reason: Broken()}, domain.Facts{})
	if err := k.commit(change)(); err != nil {
		t.Fatal(err)
	}
	if err := k.commit(change)(); err != nil {
		k.WantErr(err, eventstore.ErrConflict)
	}
	if at, n := k.Job(jobs[0]), len(k.Events(jobs[0].Aggregate())); at.State.Version != 2 || n != 2 {
		t.Errorf("version %d with %d events", at.State.Version, n)
	}
}

func testIDs(t *testing.T, env Env) {
	var mu sync.Mutex
	batches, jobs := map[domain.BatchID]bool{}, map[domain.JobID]bool{}
	var all sync.WaitGroup
	for range 2 {
		k := NewKit(t, env.Open(t))
		for range 4 {
			all.Go(func() {
				for n := range 5 {
					b, err := k.Store.ReserveBatchID(t.Context())
					j, jerr := k.Store.ReserveJobIDs(t.Context(), n+1)
					if err != nil || jerr != nil {
						t.Error(err, jerr)
						return
					}
					mu.Lock()
					if batches[b] || b.Number() == 0 {
						t.Errorf("%s was given twice", b)
					}
					batches[b] = true
					for i := range n + 1 {
						if id := j.Plus(i); jobs[id] || id.Number() == 0 {
							t.Errorf("%s was given twice", id)
						}
						jobs[j.Plus(i)] = true
					}
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	if len(batches) != 40 || len(jobs) != 120 {
		t.Errorf("%d batches and %d jobs, want 40 and 120", len(batches), len(jobs))
	}
}

func testRequireBatch(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	id, jobs := k.Started(5)
	failed := k.Fail(jobs[0], domain.JobDownloading)
	at := k.Batch(id)
	change := jobChange(k, k.Job(failed.ID), domain.RequeueJob{}, domain.Facts{Batch: at.State.State})
	change.BatchToken = at.Token
	k.DoBatch(id, domain.BeginReport{}, Operator())
	k.unchanged(eventstore.ErrConflict, k.commit(change), jobs...)
	_, err := k.Handler.Job(t.Context(), jobs[0], domain.RequeueJob{}, Operator())
	k.WantRefused(err, "batch_state")
}

func testRequireUnlocked(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	id, jobs := k.Started(5)
	k.Fail(jobs[0], domain.JobDownloading)
	c, at, err := other.Store.ClaimJob(t.Context(), jobs[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []domain.JobCommand{domain.ReprioritiseJob{Priority: 1}, domain.RequeueJob{}, domain.DeleteJob{}} {
		k.unchanged(eventstore.ErrLocked, func() error { _, err := k.Handler.Job(t.Context(), jobs[0], cmd, Operator()); return err }, jobs...)
	}
	mover := jobChange(other, at, domain.ReprioritiseJob{Priority: 1}, domain.Facts{})
	mover.Claim, mover.KeepClaim = c, true
	if _, err := other.Store.Commit(t.Context(), mover); err != nil {
		t.Errorf("the mover's own lock stops it: %v", err)
	}
	// A claim of the batch does not open the lock of its job.
	bc, _, err := k.Store.ClaimBatch(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	requeue := func() error {
		_, err := k.Handler.Job(t.Context(), jobs[0], domain.RequeueJob{}, Under(bc, true))
		return err
	}
	k.unchanged(eventstore.ErrLocked, requeue, jobs...)
	if err := other.Store.Release(t.Context(), c, 0); err != nil {
		t.Fatal(err)
	}
	if err := requeue(); err != nil {
		t.Error(err)
	}
	k.Fail(jobs[0], domain.JobDownloading)
	k.release(bc)
	k.Reported(id)
	// And a batch that somebody holds is not deleted by another.
	if bc, _, err = k.Store.ClaimBatch(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	_, err = other.Handler.Batch(t.Context(), id, domain.DeleteBatch{}, Operator())
	k.WantErr(err, eventstore.ErrLocked)
	k.DoBatch(id, domain.DeleteBatch{}, Under(bc, true))
	k.DoJob(jobs[0], domain.DeleteJobWithBatch{}, Under(bc, true))
}

func testRequireEmpty(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	id, jobs := k.Started(5, 5)
	believed := domain.Facts{Completed: 2} // somebody decides on outdated counts
	k.unchanged(eventstore.ErrConflict, k.commit(batchChange(k, k.Batch(id), domain.BeginReport{}, believed)))
	k.Walk(jobs[0], domain.JobCompleted)
	k.Fail(jobs[1], domain.JobDownloading)
	k.DoBatch(id, domain.BeginReport{}, Operator())
	k.unchanged(eventstore.ErrConflict, k.commit(batchChange(k, k.Batch(id), domain.FinishReport{}, believed)))
	k.DoBatch(id, domain.FinishReport{Report: k.report(id)}, Operator())
	k.DoJob(jobs[1], domain.RequeueJob{}, Operator())
	k.unchanged(eventstore.ErrConflict, k.commit(batchChange(k, k.Batch(id), domain.RequestUpdate{}, believed)))
	// What was proven empty still takes references.
	k.Walk(jobs[1], domain.JobCompleted)
	k.DoBatch(id, domain.RequestUpdate{}, Operator())
	k.DoBatch(id, domain.FinishReport{Report: k.report(id)}, Operator())
	if b := k.Batch(id).State; b.State != domain.BatchCompleted || slices.Compare(b.Report.NewlySuccessfulJobs, jobs[1:]) != 0 {
		t.Errorf("the second report: %s", text(b))
	}
}

func testProgress(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	id := k.Submit()
	c, _, err := k.Store.ClaimBatch(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	l := k.List(c, 3)
	row := func(n, next int) eventstore.Change {
		ch := jobChange(k, eventstore.Loaded[domain.Job]{State: domain.Job{ID: l.FirstJID.Plus(n)}}, Create(id, n, 5), domain.Facts{})
		ch.NextRow, ch.Claim, ch.KeepClaim = &next, c, true
		return ch
	}
	k.unchanged(eventstore.ErrConflict, k.commit(row(1, 1))) // a row is left out
	if err := k.commit(row(0, 0))(); err != nil {
		t.Fatal(err)
	}
	k.unchanged(eventstore.ErrConflict, k.commit(row(2, 2))) // and here
	if err := k.commit(row(1, 1))(); err != nil {
		t.Fatal(err)
	}
	if b := k.Batch(id).State; b.NextRow != 2 || b.AllJobsExist() {
		t.Errorf("after two of three rows: %s", text(b))
	}
	k.unchanged(eventstore.ErrConflict, k.commit(row(0, 0), row(1, 0)))
	k.unchanged(eventstore.ErrConflict, k.commit(row(2, 2), row(3, 2))) // more than were listed
	if err := k.commit(row(2, 2))(); err != nil {
		t.Fatal(err)
	}
	if b := k.Batch(id).State; !b.AllJobsExist() || b.Version != 2 {
		t.Errorf("after all rows: %s", text(b))
	}
	k.sameRefs()
	k.DoBatch(id, domain.StartBatch{}, Under(c, false))
}
