package storetest

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

var spaceTests = tests{
	"promised":            testPromised,
	"one leads space":     testOneLeadsSpace,
	"space lead lost":     testSpaceLeadLost,
	"promised by a loser": testPromisedByALoser,
	"promised to files":   testPromisedToFiles,
}

// promised checks to which jobs space is promised, as every process sees it.
func (k *Kit) promised(when string, want ...domain.JobID) {
	k.Helper()
	got := must[[]domain.JobID](k)(k.Store.Promised(k.Context()))
	slices.Sort(got)
	if !slices.Equal(got, want) {
		k.Errorf("%s: space is promised to %v, not to %v", when, got, want)
	}
}

// leadSpace leads provisioning or ends the test.
func (k *Kit) leadSpace() (lead context.Context, term eventstore.Token, resign func()) {
	k.Helper()
	lead, term, resign, err := k.Store.LeadSpace(k.Context())
	if err != nil {
		k.Fatal(err)
	}
	return lead, term, resign
}

// testPromised: a promise begins with J7 and J16 and ends with J8, J9 and deletion.
func testPromised(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	batch, jobs := k.Started(5, 5, 5)
	k.Walk(jobs[0], domain.JobProvisioning)
	k.promised("before J7")
	k.Walk(jobs[0], domain.JobDownloading)
	k.Walk(jobs[1], domain.JobDownloading)
	k.Walk(jobs[2], domain.JobDownloading)
	k.promised("after J7", jobs...)
	p, err := k.Store.Promise(t.Context(), jobs[0])
	if j := k.Job(jobs[0]).State; err != nil || p.Bytes != 20 || p.Bytes != j.SpaceNeeded || p.Profile != Profile || p.Version != j.Version {
		t.Errorf("promised %+v (%v) to %+v", p, err, j)
	}
	k.Walk(jobs[0], domain.JobProcessing)
	k.promised("after J8", jobs[1:]...)
	_, err = k.Store.Promise(t.Context(), jobs[0])
	k.WantErr(err, eventstore.ErrNotFound)
	k.Fail(jobs[1], domain.JobDownloading)
	k.promised("after J9", jobs[2])
	k.DoJob(jobs[1], domain.RequeueJob{}, Operator())
	k.promised("after J16", jobs[1:]...)
	k.Fail(jobs[1], domain.JobDownloading)
	k.Fail(jobs[2], domain.JobDownloading)
	k.Walk(jobs[0], domain.JobCompleted)
	k.Reported(batch)
	k.DoJob(jobs[1], domain.RequeueJob{}, Operator())
	k.promised("requeued after the report", jobs[1])
	k.DoBatch(batch, domain.DeleteBatch{}, Operator())
	if err := k.Handler.FinishDeletion(t.Context(), batch, Operator(), func(domain.Job) error { return nil }); err != nil {
		t.Fatal(err)
	}
	k.promised("after J23")
}

// testOneLeadsSpace: of two processes the second waits, and its term is another.
func testOneLeadsSpace(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	first, term, resign := k.leadSpace()
	for _, by := range []*Kit{k, other} {
		k.never("provisioning has two leaders", func(ctx context.Context) error {
			_, _, _, err := by.Store.LeadSpace(ctx)
			return err
		})
	}
	if first.Err() != nil {
		t.Error("the lead ended by itself")
	}
	resign()
	<-first.Done()
	if _, next, resign := other.leadSpace(); next == term {
		t.Errorf("term %d twice", term)
	} else {
		resign()
	}
}

func testSpaceLeadLost(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	lead, _, resign := k.leadSpace()
	k.Walk(jobs[0], domain.JobDownloading)
	env.Expire(t, k.Store)
	<-lead.Done()
	second, _, resignSecond := other.leadSpace()
	defer resignSecond()
	other.promised("to the successor", jobs[0])
	resign()
	if second.Err() != nil {
		t.Error("the lost leader ended its successor's lead")
	}
}

// testPromisedByALoser: what is promised under a lead that is over is refused, also
// while the session that had it lives, and nothing of it is written.
func testPromisedByALoser(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	k.Walk(jobs[0], domain.JobProvisioning)
	_, term, resign := k.leadSpace()
	resign()
	_, next, resignNext := other.leadSpace()
	defer resignNext()
	late := Operator()
	late.SpaceTerm = &term
	_, err := k.Handler.Job(t.Context(), jobs[0], domain.ProvisionJob{}, late)
	k.WantErr(err, eventstore.ErrFenced)
	other.promised("after a late promise")
	late.SpaceTerm = &next
	other.DoJob(jobs[0], domain.ProvisionJob{}, late)
	other.promised("under the lead", jobs[0])
}

// testPromisedToFiles: what a process promises to a file is seen by all, once, and ends with the
// download or with the session.
// Shows: P8
func testPromisedToFiles(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	a := eventstore.FilePromise{File: domain.HashFile("a", "a"), Bytes: 20, Profile: Profile}
	b := eventstore.FilePromise{File: domain.HashFile("b", "b")}
	are := func(when string, want ...eventstore.FilePromise) {
		t.Helper()
		for {
			got := must[[]eventstore.FilePromise](k)(k.Store.FilePromises(k.Context()))
			slices.SortFunc(got, func(x, y eventstore.FilePromise) int { return cmp.Compare(y.Bytes, x.Bytes) })
			if slices.Equal(got, want) {
				return
			}
			if t.Context().Err() != nil || len(got) < len(want) {
				t.Fatalf("%s: %+v, want %+v", when, got, want)
			}
		}
	}
	end := must[func()](k)(k.Store.PromiseFile(t.Context(), a))
	must[func()](k)(other.Store.PromiseFile(t.Context(), b))
	for _, by := range []*Kit{k, other} {
		_, err := by.Store.PromiseFile(t.Context(), a)
		by.WantErr(err, eventstore.ErrLocked)
	}
	are("both", a, b)
	k.promised("files are no jobs")
	env.Expire(t, other.Store)
	are("after a session", a)
	end()
	are("after the download")
}
