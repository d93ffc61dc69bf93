package storetest

import (
	"errors"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// accept is the change that a worker would write under a claim.
func (k *Kit) accept(c *eventstore.Claim, at eventstore.Loaded[domain.Job]) eventstore.Change {
	k.Helper()
	ch := jobChange(k, at, Step(at.State), domain.Facts{})
	ch.Claim, ch.HoldsVersion = c, must[eventstore.Holds](k)(k.Store.Holds(k.Context())).Version
	return ch
}

// testExpired: a session that ended under its claims changes nothing any more;
// others take its work, and itself goes on with a new session.
// Shows: P5 C13
func testExpired(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	batch, jobs := k.Started(5, 5, 5)
	c, at := k.next(domain.JobPending)
	kept, keptAt := other.next(domain.JobPending)
	late := k.accept(c, at)
	bc, _, err := k.Store.ClaimBatch(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	env.Expire(t, k.Store)
	<-c.Lost
	<-bc.Lost
	k.unchanged(eventstore.ErrFenced, k.commit(late), jobs...)
	_, err = k.Handler.Job(t.Context(), at.State.ID, domain.AcceptJob{}, Under(c, false))
	k.WantErr(err, eventstore.ErrFenced)
	// A claim of the batch fences the batch's jobs too.
	byBatch := late
	byBatch.Claim, byBatch.KeepClaim = bc, true
	k.unchanged(eventstore.ErrFenced, k.commit(byBatch), jobs...)
	k.release(c)              // nothing to give back, no error
	k.locked(keptAt.State.ID) // another session's lock is its own

	c2, at2 := other.next(domain.JobPending)
	if at2.State.ID != at.State.ID {
		t.Errorf("next is %s, want the one that was lost", at2.State.ID)
	}
	k.release(c) // not the other's lock
	k.locked(at.State.ID)
	select {
	case <-kept.Lost:
		t.Error("the other session's claim is lost too")
	default:
	}
	other.DoJob(keptAt.State.ID, domain.AcceptJob{}, Under(kept, false))
	other.DoJob(at.State.ID, domain.AcceptJob{}, Under(c2, false))

	c3, at3 := k.next(domain.JobPending)
	if c3.Worker == c.Worker {
		t.Error("the new session has the worker id of the lost one")
	}
	k.DoJob(at3.State.ID, domain.AcceptJob{}, Under(c3, false))
}

// testExpiredAtQueue: a session that ended while it waited for work goes on
// waiting with the next.
func testExpiredAtQueue(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	got := make(chan error, 1)
	go func() {
		c, at, err := k.Store.NextJob(t.Context(), domain.JobPending, nil)
		if err == nil {
			_, err = k.Handler.Job(t.Context(), at.State.ID, domain.AcceptJob{}, Under(c, false))
		}
		got <- err
	}()
	env.Expire(t, k.Store)
	other.Started(5)
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// testExpiredAlone: a process that is alone gets back what it lost with a session.
func testExpiredAlone(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	batch := k.Submit()
	k.next(domain.JobPending)
	if _, _, err := k.Store.NextBatch(t.Context(), domain.BatchPending, nil); err != nil {
		t.Fatal(err)
	}
	env.Expire(t, k.Store)
	if _, at := k.next(domain.JobPending); at.State.ID != jobs[0] {
		t.Errorf("next is %s", at.State.ID)
	}
	if _, at, err := k.Store.NextBatch(t.Context(), domain.BatchPending, nil); err != nil || at.State.ID != batch {
		t.Errorf("next is %s (%v)", at.State.ID, err)
	}
}

// testLateAfterAnother: a paused worker that comes back after another has taken
// and moved its job is refused, also when the job is in the same state again.
// Shows: P5
func testLateAfterAnother(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	k.Walk(jobs[0], domain.JobDownloading)
	c, at := k.next(domain.JobDownloading)
	late := k.accept(c, at)
	env.Expire(t, k.Store)
	c2, _ := other.next(domain.JobDownloading)
	other.DoJob(jobs[0], domain.FailJob{Reason: Broken()}, Under(c2, false))
	other.DoJob(jobs[0], domain.RequeueJob{}, Operator())
	c3, _ := other.next(domain.JobDownloading)
	k.unchanged(eventstore.ErrFenced, k.commit(late), jobs...)
	other.DoJob(jobs[0], domain.DownloadJob{Priority: 5}, Under(c3, false))
}

// testReleasedByFirst: of two goroutines of one session, the one whose claim has
// ended neither frees nor uses the other's lock.
// Shows: P5
func testReleasedByFirst(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	first, at := k.next(domain.JobPending)
	late := k.accept(first, at)
	k.release(first)
	second, _ := k.next(domain.JobPending)
	if first.ID == second.ID {
		t.Error("two claims have the same id")
	}
	k.release(first)
	other.locked(jobs[0])
	k.unchanged(eventstore.ErrFenced, k.commit(late), jobs...)
	other.locked(jobs[0])
	k.DoJob(jobs[0], domain.AcceptJob{}, Under(second, false))
}

// testEndedByCommit is the same for a claim that a commit has ended.
func testEndedByCommit(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	first, _ := k.next(domain.JobPending)
	k.DoJob(jobs[0], domain.AcceptJob{}, Under(first, false))
	second, at := k.next(domain.JobEstimating)
	k.release(first)
	other.locked(jobs[0])
	stolen := k.accept(first, at)
	k.unchanged(eventstore.ErrFenced, k.commit(stolen), jobs...)
	other.locked(jobs[0])
	// A refused write leaves the claim as it was.
	stale := k.accept(second, at)
	stale.Token += 7
	k.unchanged(eventstore.ErrConflict, k.commit(stale), jobs...)
	k.DoJob(jobs[0], domain.EstimateJob{Priority: 5}, Under(second, false))
}

// testClaimOfAnother: a claim is good only in the session that got it.
func testClaimOfAnother(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	c, at := k.next(domain.JobPending)
	other.unchanged(eventstore.ErrFenced, other.commit(other.accept(c, at)), jobs...)
	if err := other.Store.Release(t.Context(), c, 0); err != nil && !errors.Is(err, eventstore.ErrFenced) {
		t.Error(err)
	}
	other.locked(jobs[0])
	k.DoJob(jobs[0], domain.AcceptJob{}, Under(c, false))
}
