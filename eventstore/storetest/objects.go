package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
)

var objectTests = tests{
	"jobs of an object":    testJobsOfAnObject,
	"object with two keys": testObjectWithTwoKeys,
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

// earlier checks which jobs come before a job, as every process sees it.
func (k *Kit) earlier(when string, id domain.JobID, want ...domain.JobID) {
	k.Helper()
	if got := must[[]domain.JobID](k)(k.Store.Earlier(k.Context(), k.Job(id).State)); !slices.Equal(got, want) {
		k.Errorf("%s: before %s come %v, not %v", when, id, got, want)
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
	other.earlier("after J1", last, first, second)
	k.earlier("the first", first)
	k.earlier("another object's", jobs[2])
	k.DoJob(second, domain.HoldJob{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeHeldByOperator}}, Operator())
	other.earlier("after J2", last, first, second)
	k.DoJob(second, domain.DeleteJob{}, Operator())
	other.earlier("after J22", last, first)
	k.Fail(first, domain.JobProcessing)
	other.earlier("after J11", last)
	k.DoJob(first, domain.RequeueJob{}, Operator())
	other.earlier("after J17", last, first)
	k.Walk(first, domain.JobNotify)
	other.earlier("before J14", last, first)
	k.Walk(first, domain.JobCompleted)
	other.earlier("after J14", last)

	k.earlier("without a name", named)
	k.Walk(named, domain.JobProcessing)
	k.DoJob(named, domain.IdentifyJob{Identifiers: domain.Identifiers{Primary: "a", ObjectKeys: a}}, Operator())
	other.earlier("after job.identified", named, last)
	k.DoJob(last, domain.CancelJob{Reason: domain.Reason{Class: domain.ClassCancelled, Code: domain.CodeCancelled}}, Operator())
	other.earlier("after J24", named)
	k.Walk(named, domain.JobCompleted)
	k.Walk(jobs[2], domain.JobCompleted)
	k.Reported(batch)
	k.DoJob(last, domain.RequeueJob{}, Operator())
	k.DoBatch(batch, domain.DeleteBatch{}, Operator())
	if err := k.Handler.FinishDeletion(t.Context(), batch, Operator(), func(domain.Job) error { return nil }); err != nil {
		t.Fatal(err)
	}
	_, after := k.objects(a)
	other.earlier("after J23", after[0])
}

// testObjectWithTwoKeys: a common key is enough, and a job that has two in common is
// listed once.
func testObjectWithTwoKeys(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	a, b, both := []domain.ObjectKey{objectA}, []domain.ObjectKey{objectB}, []domain.ObjectKey{objectB, objectA}
	_, jobs := k.objects(a, b, both, both, b)
	k.earlier("one key", jobs[1])
	k.earlier("two keys", jobs[2], jobs[0], jobs[1])
	k.earlier("two keys again", jobs[3], jobs[0], jobs[1], jobs[2])
	k.earlier("the second key", jobs[4], jobs[1], jobs[2], jobs[3])
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
