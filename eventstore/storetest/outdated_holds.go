package storetest

import (
	"context"
	"runtime"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// deaf makes a process believe in holds that have changed since, after it has heard
// of the change: no news are on their way any more.
func (k *Kit) deaf(env Env, known eventstore.Holds) {
	k.Helper()
	if env.FixHolds == nil {
		return
	}
	for must[eventstore.Holds](k)(k.Store.Holds(k.Context())).Version == known.Version {
		runtime.Gosched()
	}
	env.FixHolds(k.Store, known)
}

// testPauseUnheard: from a queue whose pause this process has not heard of nothing is
// claimed.
func testPauseUnheard(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	known := must[eventstore.Holds](k)(k.Store.Holds(t.Context()))
	other.Hold(domain.HoldQueue, string(domain.JobPending), "ana")
	k.deaf(env, known)
	k.never("a job is claimed in a paused queue", func(ctx context.Context) error {
		_, _, err := k.Store.NextJob(ctx, domain.JobPending, nil)
		return err
	})
	other.Hold(domain.HoldQueue, string(domain.JobPending), "")
	if _, at := k.next(domain.JobPending); at.State.ID != jobs[0] {
		t.Errorf("next is %s", at.State.ID)
	}
}

// testClaimedAsItIs: a claim gives a job as it is now, also to who remembers how it
// was.
func testClaimedAsItIs(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := k.Started(5, 5)
	k.DoJob(jobs[0], domain.AcceptJob{}, Operator())
	c, _ := k.next(domain.JobEstimating) // from now on this process works there
	k.DoJob(jobs[1], domain.AcceptJob{}, Operator())
	changed := other.DoJob(jobs[1], domain.ReprioritiseJob{Priority: 1}, Operator())
	_, at := k.next(domain.JobEstimating)
	if at.State.ID != jobs[1] || at.State.Version != changed.State.Version || at.State.Priority != 1 || at.Token != changed.Token {
		t.Errorf("claimed as %s, it is %s", text(at), text(changed.Loaded))
	}
	k.release(c)
}
