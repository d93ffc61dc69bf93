package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

var objectTests = tests{
	"jobs of an object":    testJobsOfAnObject,
	"object with two keys": testObjectWithTwoKeys,
	"running batches":      testRunningBatches,
	"woken":                testWoken,
}

// objects makes a started batch of jobs with these keys of objects.
func (k *Kit) objects(keys ...[]domain.ObjectKey) (domain.BatchID, []domain.JobID) {
	k.Helper()
	id := k.Submit()
	c, _, err := k.Store.ClaimBatch(k.Context(), id)
	if err != nil {
		k.Fatal(err)
	}
	l := k.List(c, len(keys))
	var cmds []domain.CreateJob
	var ids []domain.JobID
	for i, keys := range keys {
		cmd := Create(id, i, 5)
		cmd.Identifiers.ObjectKeys = keys
		cmds, ids = append(cmds, cmd), append(ids, l.FirstJID.Plus(i))
	}
	must[[]domain.Recorded](k)(k.Handler.CreateJobs(k.Context(), l.FirstJID, 0, cmds, Under(c, true)))
	k.DoBatch(id, domain.StartBatch{}, Under(c, false))
	return id, ids
}

// beside checks which jobs have an entry of a job's object, as every process sees it.
func (k *Kit) beside(when string, id domain.JobID, want ...domain.JobID) {
	k.Helper()
	if got := must[[]domain.JobID](k)(k.Store.JobsOfObject(k.Context(), k.Job(id).State)); !slices.Equal(got, want) {
		k.Errorf("%s: beside %s are %v, not %v", when, id, got, want)
	}
}

var (
	objectA = domain.KeyOfPrimary(Profile, "a")
	objectB = domain.KeyOfLocalID("owner", Profile, "b")
)

// testJobsOfAnObject: an entry begins with J1, a requeue and job.identified, and ends with
// completion, failure and deletion.
func testJobsOfAnObject(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	a := []domain.ObjectKey{objectA}
	batch, jobs := k.objects(a, a, []domain.ObjectKey{objectB}, a, nil)
	first, second, last, named := jobs[0], jobs[1], jobs[3], jobs[4]
	other.beside("after J1", last, first, second)
	k.beside("the first", first, second, last)
	k.beside("another object's", jobs[2])
	k.DoJob(second, domain.HoldJob{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeHeldByOperator}}, Operator())
	other.beside("after J2", last, first, second)
	k.DoJob(second, domain.DeleteJob{}, Operator())
	other.beside("after J22", last, first)
	k.Fail(first, domain.JobProcessing)
	other.beside("after J11", last)
	k.DoJob(first, domain.RequeueJob{}, Operator())
	other.beside("after J17", last, first)
	k.Walk(first, domain.JobNotify)
	other.beside("before J14", last, first)
	k.Walk(first, domain.JobCompleted)
	other.beside("after J14", last)

	k.beside("without a name", named)
	k.Walk(named, domain.JobProcessing)
	k.DoJob(named, domain.IdentifyJob{Identifiers: domain.Identifiers{Primary: "a", ObjectKeys: a}}, Operator())
	other.beside("after job.identified", named, last)
	k.DoJob(last, domain.CancelJob{Reason: domain.Reason{Class: domain.ClassCancelled, Code: domain.CodeCancelled}}, Operator())
	other.beside("after J24", named)
	k.Walk(named, domain.JobCompleted)
	k.Walk(jobs[2], domain.JobCompleted)
	k.Reported(batch)
	k.DoJob(last, domain.RequeueJob{}, Operator())
	k.DoBatch(batch, domain.DeleteBatch{}, Operator())
	if err := k.Handler.FinishDeletion(t.Context(), batch, Operator(), func(domain.Job) error { return nil }); err != nil {
		t.Fatal(err)
	}
	_, after := k.objects(a)
	other.beside("after J23", after[0])
}

// testRunningBatches: the batches of a submitter that were grabbed, or are synchronous, run
// until they are reported.
func testRunningBatches(t *testing.T, env Env) {
	k, other := NewRingKit(t, env.Open(t)), NewRingKit(t, env.Open(t))
	runs := func(when, user string, want ...domain.BatchID) {
		t.Helper()
		if got := must[[]domain.BatchID](k)(other.Store.RunningBatches(t.Context(), user)); !slices.Equal(got, want) {
			t.Errorf("%s: %v of %s run, not %v", when, got, user, want)
		}
	}
	k.Deposits("ana1 ana2 ben1")
	runs("waiting", "ana")
	first, of := k.Grab(), k.Grab()
	runs("grabbed", "ana", first.State.ID)
	runs("grabbed", "ben", of.State.ID)
	second := k.Grab()
	at := must[eventstore.Result[domain.Batch]](k)(k.atOnce("ana"))
	runs("with a synchronous one", "ana", first.State.ID, second.State.ID, at.State.ID)
	k.EndGrabbed(first)
	runs("reported", "ana", second.State.ID, at.State.ID)
}

// testObjectWithTwoKeys: a common key is enough, and a job that has two in common is
// listed once.
func testObjectWithTwoKeys(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	a, b, both := []domain.ObjectKey{objectA}, []domain.ObjectKey{objectB}, []domain.ObjectKey{objectB, objectA}
	_, jobs := k.objects(a, b, both, both, b)
	k.beside("one key", jobs[1], jobs[2], jobs[3], jobs[4])
	k.beside("two keys", jobs[2], jobs[0], jobs[1], jobs[3], jobs[4])
	k.beside("two keys again", jobs[3], jobs[0], jobs[1], jobs[2], jobs[4])
	k.beside("the second key", jobs[4], jobs[1], jobs[2], jobs[3])
}

// testWoken: a job that was released for a long time can be claimed once it is woken.
func testWoken(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	c, _, err := k.Store.NextJob(t.Context(), domain.JobPending, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Store.Release(t.Context(), c, longDelay); err != nil {
		t.Fatal(err)
	}
	k.Store.Wake(t.Context(), jobs[0])
	c, _, err = k.Store.NextJob(t.Context(), domain.JobPending, nil)
	if err != nil || c.Aggregate != jobs[0].Aggregate() {
		t.Fatalf("claimed %+v: %v", c, err)
	}
	k.Store.Wake(t.Context(), jobs[0]) // it is claimed: nothing to wake
	k.never("a claimed job was claimed again", func(ctx context.Context) error {
		_, _, err := k.Store.NextJob(ctx, domain.JobPending, nil)
		return err
	})
}

const longDelay = time.Hour
