package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// testHoldAmongThousand: a hold is set while workers of two processes accept the
// thousand jobs of a batch. In the order of commits no job is accepted behind it.
func testHoldAmongThousand(t *testing.T, env Env) {
	const all, before = 1000, 300
	operator := NewKit(t, env.Open(t))
	_, jobs := operator.Started(slices.Repeat([]int{5}, all)...)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	moved, told, reached := map[domain.JobID]bool{}, false, make(chan struct{})
	var workers sync.WaitGroup
	for range 2 {
		k := NewKit(t, env.Open(t))
		for range 4 {
			workers.Go(func() {
				for {
					c, at, err := k.Store.NextJob(ctx, domain.JobPending, nil)
					if err != nil {
						if ctx.Err() == nil {
							t.Errorf("claim: %v", err)
						}
						return
					}
					id := at.State.ID
					_, err = k.Handler.Job(t.Context(), id, domain.AcceptJob{}, Under(c, false))
					var refused *domain.Refused
					if errors.As(err, &refused) && refused.Code == domain.CodeCollectionHeld {
						_, err = k.Handler.Job(t.Context(), id, domain.HoldJob{Reason: Broken()}, Under(c, false))
					}
					if err != nil && k.Job(id).State.State == domain.JobPending {
						k.release(c)
						continue // the session was lost under load; it is handed out again
					}
					mu.Lock()
					moved[id] = true
					switch n := len(moved); {
					case n == before && !told:
						told = true
						close(reached)
					case n == all:
						stop()
					}
					mu.Unlock()
				}
			})
		}
	}
	select {
	case <-reached:
		operator.Hold(domain.HoldCollection, Profile, "ana")
	case <-ctx.Done():
	}
	workers.Wait()
	if t.Failed() {
		return
	}

	hold := operator.Events(domain.SettingAggregate(domain.HoldCollection, Profile))
	if len(hold) != 1 || hold[0].Zxid == 0 {
		t.Fatalf("the hold's events: %+v", hold)
	}
	accepted, held := 0, 0
	for _, items := range operator.Outbox() {
		for _, it := range items {
			for _, e := range it.Events {
				switch e.Type {
				case domain.EventJobAccepted:
					if accepted++; e.Zxid > hold[0].Zxid {
						t.Errorf("%s was accepted in commit %d, behind the hold in %d", e.Aggregate, e.Zxid, hold[0].Zxid)
					}
				case domain.EventJobHeld:
					if held++; e.Zxid < hold[0].Zxid {
						t.Errorf("%s was held in commit %d, before the hold in %d", e.Aggregate, e.Zxid, hold[0].Zxid)
					}
				}
			}
		}
	}
	if accepted < before || held == 0 || accepted+held != all {
		t.Errorf("%d jobs were accepted and %d held", accepted, held)
	}
	waits := jobs[slices.IndexFunc(jobs, func(j domain.JobID) bool { return operator.Job(j).State.State == domain.JobHeld })]
	_, err := operator.Handler.Job(t.Context(), waits, domain.ReleaseJob{}, Operator())
	operator.WantRefused(err, domain.CodeCollectionHeld)
	operator.Hold(domain.HoldCollection, Profile, "")
	operator.DoJob(waits, domain.ReleaseJob{}, Operator())
}
