package storetest

import (
	"encoding/json"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Path drives fresh batches so that every row of both tables is taken once, and
// calls look after each.
func (k *Kit) Path(look func(row string)) {
	k.Helper()
	batch := func(id domain.BatchID, cmd domain.BatchCommand, o eventstore.Meta) {
		k.Helper()
		r := k.DoBatch(id, cmd, o)
		k.sameBatch(r.Loaded)
		look(r.Row)
	}
	job := func(id domain.JobID, cmd domain.JobCommand) {
		k.Helper()
		r := k.DoJob(id, cmd, Operator())
		if r.State.State != domain.JobDeleted {
			k.sameJob(r.Loaded)
		}
		look(r.Row)
	}
	told := &domain.NoteDelivery{Channel: "mail", About: "report", Delivery: "d", Delivered: true}
	report := func(id domain.BatchID) domain.FinishReport {
		return domain.FinishReport{Report: k.report(id), Mailed: told}
	}
	why := Broken()

	// A collection on hold, and a batch that is deleted while it waits.
	id := k.Submit()
	look("B1")
	k.Hold(domain.HoldCollection, Profile, "ana")
	held := domain.HoldBatch{Reason: *domain.Held(Profile, domain.Hold{By: "ana"})}
	batch(id, held, Operator())
	k.Hold(domain.HoldCollection, Profile, "")
	batch(id, domain.ReleaseBatch{}, Operator())
	k.Hold(domain.HoldCollection, Profile, "ben")
	batch(id, held, Operator())
	k.Hold(domain.HoldCollection, Profile, "")
	batch(id, domain.DeleteBatch{Reason: &why}, Operator())

	// One job that goes through, and one for each way to fail.
	id = k.Submit()
	c, _, err := k.Store.ClaimBatch(k.Context(), id)
	if err != nil {
		k.Fatal(err)
	}
	jobs := k.Make(c, k.List(c, 8), 0, 5, 5, 5, 5, 5, 5, 5, 5)
	look("J1")
	batch(id, domain.StartBatch{Mailed: told}, Under(c, false))
	good, rest := jobs[0], jobs[1:]
	job(good, domain.HoldJob{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeHeldByOperator, Message: "wait"}})
	job(good, domain.ReleaseJob{})
	for j := k.Job(good).State; j.State != domain.JobCompleted; j = k.Job(good).State {
		if j.State == domain.JobProcessing {
			job(good, domain.IdentifyJob{Identifiers: domain.Identifiers{Primary: "ark:/99999/fk4", LocalID: []string{"a", "b"}}, Minted: true})
		}
		job(good, domain.WaitJob{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeSpaceShort, Message: "wait"}})
		job(good, domain.ReprioritiseJob{Priority: (j.Priority + 7) % 100})
		job(good, Step(k.Job(good).State))
	}
	for i, in := range []domain.JobState{domain.JobPending, domain.JobDownloading, domain.JobProcessing, domain.JobRecording, domain.JobNotify} {
		k.Walk(rest[i], in)
		job(rest[i], domain.FailJob{Reason: Broken()})
	}
	job(rest[5], domain.HoldJob{Reason: why})
	job(rest[5], domain.DeleteJob{Reason: &why})
	ended := domain.Reason{Class: domain.ClassCancelled, Code: domain.CodeCancelled, Message: "withdrawn"}
	job(rest[6], domain.CancelJob{Reason: ended})
	job(rest[6], domain.RequeueJob{Reason: &why})
	job(rest[6], domain.CancelJob{Reason: ended})
	job(rest[6], domain.DeleteJob{Reason: &why})
	batch(id, domain.BeginReport{}, Operator())
	batch(id, report(id), Operator())
	job(rest[0], domain.DeleteJob{Reason: &why})
	for _, j := range rest[1:5] {
		job(j, domain.RequeueJob{Reason: &why})
		k.Fail(j, k.Job(j).State.State)
	}
	batch(id, domain.RequestUpdate{Reason: &why}, Operator())
	batch(id, report(id), Operator())
	for _, j := range rest[1:5] {
		k.DoJob(j, domain.RequeueJob{}, Operator())
		k.Walk(j, domain.JobCompleted)
	}
	batch(id, domain.RequestUpdate{}, Operator())
	batch(id, report(id), Operator())
	batch(id, domain.NoteDelivery{Channel: "mail", About: "report", Delivery: "d", Delivered: true}, Operator())
	job(good, domain.CleanJob{})
	batch(id, domain.CleanBatch{}, Operator())

	// A batch without a failure, and one that is deleted with its jobs.
	id, jobs = k.Started(5)
	k.Walk(jobs[0], domain.JobCompleted)
	k.DoBatch(id, domain.BeginReport{}, Operator())
	batch(id, report(id), Operator())
	id, jobs = k.Started(5)
	k.Fail(jobs[0], domain.JobDownloading)
	k.Reported(id)
	batch(id, domain.DeleteBatch{}, Operator())
	job(jobs[0], domain.DeleteJobWithBatch{})

	// A failed batch that is cleaned up.
	id, jobs = k.Started(5)
	k.Fail(jobs[0], domain.JobDownloading)
	k.Reported(id)
	batch(id, domain.CleanBatch{}, Operator())
	job(jobs[0], domain.DeleteJobWithBatch{})
}

// testRows: after each row what is loaded is what was decided, the batch's
// references are in the sub-states of its jobs, and the events follow each other.
func testRows(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	taken := map[string]bool{}
	k.Path(func(row string) { taken[row] = true; k.sameRefs() })
	for _, r := range domain.BatchTransitions {
		if !taken[r.Row] {
			t.Errorf("%s was not taken", r.Row)
		}
	}
	for _, r := range domain.JobTransitions {
		if !taken[r.Row] {
			t.Errorf("%s was not taken", r.Row)
		}
	}
	k.folds()
}

func (k *Kit) sameBatch(want eventstore.Loaded[domain.Batch]) {
	k.Helper()
	if got := k.Batch(want.State.ID); text(got) != text(want) {
		k.Fatalf("loaded  %s\ndecided %s", text(got), text(want))
	}
}

func (k *Kit) sameJob(want eventstore.Loaded[domain.Job]) {
	k.Helper()
	if got := k.Job(want.State.ID); text(got) != text(want) {
		k.Fatalf("loaded  %s\ndecided %s", text(got), text(want))
	}
}

// text compares states without telling a missing list from an empty one.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// sameRefs compares every reference with the job's own state, and counts with
// lists.
func (k *Kit) sameRefs() {
	k.Helper()
	ctx := k.Context()
	for _, id := range must[[]domain.BatchID](k)(k.Store.Batches(ctx)) {
		refs := must[eventstore.Refs](k)(k.Store.Refs(ctx, id))
		for sub, n := range map[domain.Sub]int{domain.SubProcessing: refs.Processing, domain.SubFailed: refs.Failed, domain.SubCompleted: refs.Completed} {
			jobs := must[[]domain.JobID](k)(k.Store.BatchJobs(ctx, id, sub))
			if len(jobs) != n {
				k.Errorf("%s has %d jobs in %s and counts %d", id, len(jobs), sub, n)
			}
			for _, j := range jobs {
				if s := k.Job(j).State; s.State.Sub() != sub || s.Configuration.BatchID != id {
					k.Errorf("%s in %s of %s is %s in %s", j, sub, id, s.State, s.Configuration.BatchID)
				}
			}
		}
	}
}

// folds compares folding the outbox's events with what is there.
func (k *Kit) folds() {
	k.Helper()
	batches, jobs := map[domain.BatchID]domain.Batch{}, map[domain.JobID]domain.Job{}
	for _, items := range k.Outbox() {
		for _, it := range items {
			for _, e := range it.Events {
				var err error
				switch e.Aggregate.Kind {
				case domain.KindBatch:
					id := domain.BatchID(e.Aggregate.ID)
					batches[id], err = domain.EvolveBatch(batches[id], e)
				case domain.KindJob:
					id := domain.JobID(e.Aggregate.ID)
					jobs[id], err = domain.EvolveJob(jobs[id], e)
				}
				if err != nil {
					k.Fatal(err)
				}
			}
		}
	}
	for id, folded := range batches {
		now := k.Batch(id).State
		folded.NextRow = now.NextRow // no event's business
		if text(folded) != text(now) {
			k.Errorf("folded %s\nloaded %s", text(folded), text(now))
		}
	}
	for id, folded := range jobs {
		if folded.State == domain.JobDeleted {
			_, err := k.Store.Job(k.Context(), id)
			k.WantErr(err, eventstore.ErrNotFound)
			continue
		}
		if now := k.Job(id).State; text(folded) != text(now) {
			k.Errorf("folded %s\nloaded %s", text(folded), text(now))
		}
	}
}
