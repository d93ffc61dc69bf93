package storetest

import (
	"context"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

var handlerTests = tests{
	"decides again":        testDecidesAgain,
	"gives up":             testGivesUp,
	"fenced at once":       testFencedAtOnce,
	"same command":         testSameCommand,
	"one version":          testOneVersion,
	"new facts":            testNewFacts,
	"refused":              testRefused,
	"unknown":              testHandlerUnknown,
	"create jobs":          testCreateJobs,
	"create many":          testCreateMany,
	"manifest error":       testManifestError,
	"reports what is left": testReportRace,
}

// interloper lets somebody act between a decision and its write.
type interloper struct {
	Store
	times int
	act   func()
	tries int
}

func (i *interloper) Commit(ctx context.Context, changes ...eventstore.Change) ([]eventstore.Committed, error) {
	i.tries++
	if i.times > 0 {
		i.times--
		i.act()
	}
	return i.Store.Commit(ctx, changes...)
}

// between returns a handler whose first writes are preceded by act.
func (k *Kit) between(times int, act func()) (*eventstore.Handler, *interloper) {
	i := &interloper{Store: k.Store, times: times, act: act}
	return NewHandler(i), i
}

func testDecidesAgain(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	priority := 10
	h, _ := k.between(3, func() {
		priority++
		other.DoJob(jobs[0], domain.ReprioritiseJob{Priority: priority}, Operator())
	})
	r, err := h.Job(t.Context(), jobs[0], domain.AcceptJob{}, Operator())
	if err != nil {
		t.Fatal(err)
	}
	if r.State.Version != 5 || r.Row != "J4" || r.State.Priority != 13 || r.Events[0].Version != 5 {
		t.Errorf("after three changes by another: %s", text(r))
	}
	k.sameJob(r.Loaded)
}

// testOneVersion: a command for another version than the present one changes nothing, also
// if the version is overtaken between decision and write; written before, it is no error.
func testOneVersion(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := k.Started(2)
	h, _ := k.between(0, nil)
	version := k.Job(jobs[0]).State.Version
	m := Operator()
	m.CommandID = "one-version"
	for _, wrong := range []int64{version + 1, version + 7} {
		m.IfVersion = wrong
		_, err := h.Job(t.Context(), jobs[0], domain.ReprioritiseJob{Priority: 7}, m)
		k.WantErr(err, eventstore.ErrOutdated)
	}
	m.IfVersion = version
	overtaken, _ := k.between(1, func() { other.DoJob(jobs[0], domain.ReprioritiseJob{Priority: 20}, Operator()) })
	_, err := overtaken.Job(t.Context(), jobs[0], domain.ReprioritiseJob{Priority: 7}, m)
	k.WantErr(err, eventstore.ErrOutdated)
	if j := k.Job(jobs[0]).State; j.Priority != 20 || j.Version != version+1 {
		t.Errorf("the job has priority %d in version %d", j.Priority, j.Version)
	}
	m.IfVersion = version + 1
	for range 2 { // the second time it was written before
		r, err := h.Job(t.Context(), jobs[0], domain.ReprioritiseJob{Priority: 7}, m)
		if err != nil || r.State.Priority != 7 || r.State.Version != version+2 {
			t.Errorf("%s (%v)", text(r), err)
		}
	}
	batch := k.Job(jobs[0]).State.Configuration.BatchID
	m.CommandID, m.IfVersion = "", k.Batch(batch).State.Version+1
	_, err = h.Batch(t.Context(), batch, domain.RequestUpdate{}, m)
	k.WantErr(err, eventstore.ErrOutdated)
}

func testGivesUp(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	h, i := k.between(1000, func() {
		other.DoJob(jobs[0], domain.WaitJob{Reason: Broken()}, Operator())
	})
	_, err := h.Job(t.Context(), jobs[0], domain.AcceptJob{}, Operator())
	k.WantErr(err, eventstore.ErrConflict)
	if i.tries < 5 || i.tries > 100 {
		t.Errorf("gave up after %d tries", i.tries)
	}
	if s := k.Job(jobs[0]).State.State; s != domain.JobPending {
		t.Errorf("the job is %s", s)
	}
}

// testFencedAtOnce: a mover without its claim does not try again.
func testFencedAtOnce(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	c, _ := k.next(domain.JobPending)
	k.release(c)
	h, i := k.between(0, nil)
	_, err := h.Job(t.Context(), jobs[0], domain.AcceptJob{}, Under(c, false))
	k.WantErr(err, eventstore.ErrFenced)
	c, _ = k.next(domain.JobPending)
	_, err = h.Job(t.Context(), jobs[0], domain.ReprioritiseJob{Priority: 1}, Operator())
	k.WantErr(err, eventstore.ErrLocked)
	if i.tries != 2 {
		t.Errorf("%d tries, want one each", i.tries)
	}
	k.release(c)
}

// testSameCommand: asked again with the same command id, nothing happens twice.
func testSameCommand(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	ctx := t.Context()
	id := must[domain.BatchID](k)(k.Store.ReserveBatchID(ctx))
	order := func(id string) eventstore.Meta {
		o := Operator()
		o.CommandID = id
		return o
	}
	for range 2 {
		k.DoBatch(id, domain.SubmitBatch{Submission: Submission()}, order("c-1"))
	}
	_, err := k.Handler.Batch(ctx, id, domain.SubmitBatch{Submission: Submission()}, order("c-2"))
	k.WantRefused(err, domain.CodeIllegal)
	_, jobs := k.Started(5)
	first := k.DoJob(jobs[0], domain.AcceptJob{}, order("c-3"))
	again := k.DoJob(jobs[0], domain.AcceptJob{}, order("c-3"))
	if len(again.Events) != 0 || text(again.Loaded) != text(first.Loaded) {
		t.Errorf("asked again: %s, first %s", text(again), text(first))
	}
	if b, j := k.Events(id.Aggregate()), k.Events(jobs[0].Aggregate()); len(b) != 1 || len(j) != 2 {
		t.Errorf("%d and %d events, want 1 and 2", len(b), len(j))
	}
}

// testNewFacts: a fact that changes between decision and write leads to a new decision.
func testNewFacts(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	id, jobs := k.Started(5, 5)
	h, i := k.between(1, func() { other.Hold(domain.HoldCollection, Profile, "ana") })
	_, err := h.Job(t.Context(), jobs[0], domain.AcceptJob{}, Operator())
	k.WantRefused(err, domain.CodeCollectionHeld)
	if i.tries != 1 {
		t.Errorf("%d tries, want 1", i.tries)
	}
	other.Hold(domain.HoldCollection, Profile, "")
	k.Fail(jobs[0], domain.JobDownloading)
	k.Fail(jobs[1], domain.JobDownloading)
	h, _ = k.between(1, func() { other.DoBatch(id, domain.BeginReport{}, Operator()) })
	_, err = h.Job(t.Context(), jobs[0], domain.RequeueJob{}, Operator())
	k.WantRefused(err, "batch_state")
}

// testReportRace: a job requeued between counting and writing keeps its batch
// from being reported.
func testReportRace(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	id, jobs := k.Started(5)
	k.Fail(jobs[0], domain.JobDownloading)
	h, _ := k.between(1, func() { other.DoJob(jobs[0], domain.RequeueJob{}, Operator()) })
	_, err := h.Batch(t.Context(), id, domain.BeginReport{}, Operator())
	k.WantRefused(err, "jobs_processing")
}

func testRefused(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	id, jobs := k.Started(5)
	k.unchanged(nil, func() error {
		_, err := k.Handler.Job(t.Context(), jobs[0], domain.CompleteJob{}, Operator())
		k.WantRefused(err, domain.CodeIllegal)
		_, err = k.Handler.Batch(t.Context(), id, domain.BeginReport{}, Operator())
		k.WantRefused(err, "jobs_processing")
		_, err = k.Handler.Batch(t.Context(), id, domain.SubmitBatch{}, Operator())
		k.WantRefused(err, domain.CodeIllegal)
		_, err = k.Handler.Job(t.Context(), jobs[0], domain.ReprioritiseJob{Priority: 100}, Operator())
		k.WantRefused(err, "bad_priority")
		return nil
	}, jobs...)
}

func testHandlerUnknown(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	_, err := k.Handler.Job(t.Context(), domain.NewJobID(99), domain.AcceptJob{}, Operator())
	k.WantErr(err, eventstore.ErrNotFound)
	_, err = k.Handler.Batch(t.Context(), domain.NewBatchID(99), domain.StartBatch{}, Operator())
	k.WantRefused(err, domain.CodeIllegal)
}

// testCreateJobs: making jobs goes on where a lost session stopped, and no row
// gets two jobs or none.
func testCreateJobs(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	ctx := t.Context()
	id := k.Submit()
	c, _, err := k.Store.NextBatch(ctx, domain.BatchPending, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := k.List(c, 5)
	made := k.Make(c, l, 0, 5, 6)
	if _, err := k.Handler.CreateJobs(ctx, l.FirstJID, 0, []domain.CreateJob{Create(id, 0, 5)}, Under(c, true)); err == nil {
		t.Error("a row got a second job")
	} else {
		k.WantErr(err, eventstore.ErrConflict)
	}
	_, err = k.Handler.Batch(ctx, id, domain.StartBatch{}, Under(c, true))
	k.WantRefused(err, "jobs_missing")
	env.Expire(t, k.Store)
	_, err = k.Handler.CreateJobs(ctx, l.FirstJID, 2, []domain.CreateJob{Create(id, 2, 5)}, Under(c, true))
	k.WantErr(err, eventstore.ErrFenced)

	c, at, err := other.Store.NextBatch(ctx, domain.BatchPending, nil)
	if err != nil {
		t.Fatal(err)
	}
	if at.State.ID != id || at.State.NextRow != 2 || at.State.Listing == nil || *at.State.Listing != l {
		t.Fatalf("the batch is found as %s", text(at))
	}
	made = append(made, other.Make(c, *at.State.Listing, at.State.NextRow, 7, 8, 9)...)
	other.DoBatch(id, domain.StartBatch{}, Under(c, false))
	for i, j := range made {
		if s := k.Job(j).State; s.ID != l.FirstJID.Plus(i) || s.Priority != 5+i || s.Configuration.Row != i || s.Version != 1 {
			t.Errorf("row %d has %s", i, text(s))
		}
	}
	k.sameRefs()
	k.folds()
	if refs := must[eventstore.Refs](k)(k.Store.Refs(ctx, id)); refs.Processing != 5 {
		t.Errorf("references: %+v", refs)
	}
}

// testCreateMany: as many jobs as are promised fit into one write.
func testCreateMany(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	priorities := make([]int, eventstore.MaxJobsPerCommit+1)
	id, jobs := k.Started(priorities...)
	if listed := must[[]domain.JobID](k)(k.Store.BatchJobs(t.Context(), id, domain.SubProcessing)); text(listed) != text(jobs) {
		t.Errorf("made %v\nlisted %v", jobs, listed)
	}
}

// testManifestError: a batch without jobs is reported as failed, with why.
func testManifestError(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	id := k.Submit()
	c, _, err := k.Store.NextBatch(t.Context(), domain.BatchPending, nil)
	if err != nil {
		t.Fatal(err)
	}
	why := Broken()
	k.DoBatch(id, domain.StartBatch{Problem: &why}, Under(c, false))
	b := k.Reported(id)
	if b.State != domain.BatchFailed || b.Reason == nil || *b.Reason != *why.Final() || b.Report.Failed != 0 {
		t.Errorf("reported as %s", text(b))
	}
	k.sameBatch(k.Batch(id))
	k.DoBatch(id, domain.RequestUpdate{}, Operator())
	if r := k.DoBatch(id, domain.FinishReport{Report: k.report(id)}, Operator()); r.Row != "B10" {
		t.Errorf("the second report took %s", r.Row)
	}
}
