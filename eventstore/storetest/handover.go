package storetest

import (
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

var handOverTests = tests{
	"hand-over goes on":             testHandOver,
	"hand-over urgent first":        testHandOverUrgentFirst,
	"hand-over older first":         testHandOverOlderFirst,
	"hand-over paused":              testHandOverPaused,
	"hand-over pause unheard of":    testHandOverPauseUnheard,
	"hand-over other state":         testHandOverOtherState,
	"hand-over stopped worker":      testHandOverStopped,
	"hand-over stopped afterwards":  testHandOverLost,
	"hand-over released afterwards": testHandOverReleased,
}

// then is an order that ends the claim and asks for the next state.
func then(c *eventstore.Claim, next domain.JobState) eventstore.Meta {
	o := Under(c, false)
	o.Next = next
	return o
}

// inHand returns a claimed job in provisioning, and the first two processes.
func inHand(t *testing.T, env Env) (k, other *Kit, c *eventstore.Claim, job domain.JobID) {
	t.Helper()
	k, other = NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	k.Walk(jobs[0], domain.JobProvisioning)
	c, _, err := k.Store.ClaimJob(t.Context(), jobs[0])
	if err != nil {
		t.Fatal(err)
	}
	return k, other, c, jobs[0]
}

// testHandOver: a job that is handed over is claimed in its next state, by one
// write; the claim before has ended, and the next is a claim like any other.
func testHandOver(t *testing.T, env Env) {
	k, other, c, job := inHand(t, env)
	r := k.DoJob(job, domain.ProvisionJob{}, then(c, domain.JobDownloading))
	if r.Claim == nil || r.Claim.ID == c.ID || r.Claim.Worker != c.Worker || r.Claim.Attempts != 1 || r.Claim.Aggregate != c.Aggregate || r.Claim.Lost == nil {
		t.Fatalf("the claim of the next state is %+v", r.Claim)
	}
	if len(r.Events) != 1 || r.State.State != domain.JobDownloading {
		t.Errorf("%d events led to %s", len(r.Events), r.State.State)
	}
	other.locked(job)
	k.locked(job)
	_, err := k.Handler.Job(t.Context(), job, domain.DownloadJob{Files: 1}, Under(c, false))
	k.WantErr(err, eventstore.ErrFenced)
	k.release(c) // has ended: gives nothing back
	other.locked(job)
	r = k.DoJob(job, domain.DownloadJob{Files: 1, Priority: 5}, then(r.Claim, domain.JobProcessing))
	k.DoJob(job, Step(r.State), Under(r.Claim, false))
	if _, at := other.next(domain.JobRecording); at.State.ID != job {
		t.Errorf("next is %s", at.State.ID)
	}
	k.folds()
}

// waiting adds a job to downloading.
func (k *Kit) waiting(priority int) domain.JobID {
	k.Helper()
	_, jobs := k.Started(priority)
	k.Walk(jobs[0], domain.JobDownloading)
	return jobs[0]
}

// refusedHandOver does the step, which must be written without a claim of the next
// state, and returns what is next there.
func (k *Kit) refusedHandOver(c *eventstore.Claim, job domain.JobID) {
	k.Helper()
	r := k.DoJob(job, domain.ProvisionJob{}, then(c, domain.JobDownloading))
	if r.Claim != nil || r.State.State != domain.JobDownloading {
		k.Fatalf("it is %s and handed over: %v", r.State.State, r.Claim != nil)
	}
	if locked := must[[]domain.Aggregate](k)(k.Store.Locked(k.Context(), job.Aggregate())); len(locked) != 0 {
		k.Error("the job is locked")
	}
}

func testHandOverUrgentFirst(t *testing.T, env Env) {
	k, _, c, job := inHand(t, env)
	urgent := k.waiting(4)
	k.refusedHandOver(c, job)
	for _, want := range []domain.JobID{urgent, job} {
		if _, at := k.next(domain.JobDownloading); at.State.ID != want {
			t.Errorf("next is %s, want %s", at.State.ID, want)
		}
	}
}

// testHandOverOlderFirst: among equals the older goes first, and what is less
// urgent or younger stands in nobody's way.
func testHandOverOlderFirst(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	_, jobs := k.Started(5, 5, 5, 6)
	for i, to := range []domain.JobState{domain.JobProvisioning, domain.JobProvisioning, domain.JobDownloading, domain.JobDownloading} {
		k.Walk(jobs[i], to)
	}
	c, _ := k.next(domain.JobProvisioning)
	if r := k.DoJob(jobs[0], domain.ProvisionJob{}, then(c, domain.JobDownloading)); r.Claim == nil {
		t.Error("held up by a younger job")
	} else {
		k.release(r.Claim)
	}
	c, _ = k.next(domain.JobProvisioning)
	if r := k.DoJob(jobs[1], domain.ProvisionJob{}, then(c, domain.JobDownloading)); r.Claim != nil {
		t.Error("passed an older job")
	}
}

func testHandOverPaused(t *testing.T, env Env) {
	for _, queue := range []string{string(domain.JobDownloading), domain.QueueIngest} {
		k, other, c, job := inHand(t, env)
		other.Hold(domain.HoldQueue, queue, "ana")
		k.refusedHandOver(c, job)
		other.Hold(domain.HoldQueue, queue, "")
	}
}

// testHandOverPauseUnheard: a pause that this process has not heard of holds all the
// same.
func testHandOverPauseUnheard(t *testing.T, env Env) {
	k, other, c, job := inHand(t, env)
	known := must[eventstore.Holds](k)(k.Store.Holds(t.Context()))
	other.Hold(domain.HoldQueue, string(domain.JobDownloading), "ana")
	k.deaf(env, known)
	k.refusedHandOver(c, job)
}

func testHandOverOtherState(t *testing.T, env Env) {
	k, other, c, job := inHand(t, env)
	r := k.DoJob(job, domain.ProvisionJob{}, then(c, domain.JobProcessing))
	if r.Claim != nil {
		t.Error("handed over to a state that it does not go to")
	}
	if _, at := other.next(domain.JobDownloading); at.State.ID != job {
		t.Errorf("next is %s", at.State.ID)
	}
}

// testHandOverStopped: a worker whose session has ended hands nothing over.
func testHandOverStopped(t *testing.T, env Env) {
	k, other, c, job := inHand(t, env)
	late := k.accept(c, k.Job(job))
	late.Next = domain.JobDownloading
	env.Expire(t, k.Store)
	<-c.Lost
	k.unchanged(eventstore.ErrFenced, k.commit(late), job)
	other.next(domain.JobProvisioning)
}

// testHandOverLost: a claim that was handed over is lost with its session.
func testHandOverLost(t *testing.T, env Env) {
	k, other, c, job := inHand(t, env)
	next := k.DoJob(job, domain.ProvisionJob{}, then(c, domain.JobDownloading)).Claim
	env.Expire(t, k.Store)
	<-next.Lost
	_, err := k.Handler.Job(t.Context(), job, domain.DownloadJob{Files: 1}, Under(next, false))
	k.WantErr(err, eventstore.ErrFenced)
	c2, at := other.next(domain.JobDownloading)
	if at.State.ID != job || c2.Attempts != 2 {
		t.Errorf("next is %s, at attempt %d", at.State.ID, c2.Attempts)
	}
}

// testHandOverReleased: it counts as a claim until it is given back.
func testHandOverReleased(t *testing.T, env Env) {
	k, other, c, job := inHand(t, env)
	k.release(k.DoJob(job, domain.ProvisionJob{}, then(c, domain.JobDownloading)).Claim)
	c2, at := other.next(domain.JobDownloading)
	if at.State.ID != job || c2.Attempts != 1 {
		t.Errorf("next is %s, at attempt %d", at.State.ID, c2.Attempts)
	}
}
