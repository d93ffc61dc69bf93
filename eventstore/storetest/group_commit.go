package storetest

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// testTogether: of what is committed at the same moment each gets its own answer.
// A decision that is refused takes no other with it, and of two about the same job
// one is written.
func testTogether(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	_, jobs := k.Started(slices.Repeat([]int{5}, 40)...)
	var changes []eventstore.Change
	for _, j := range jobs {
		changes = append(changes, jobChange(k, k.Job(j), domain.AcceptJob{}, domain.Facts{}))
	}
	for i := range changes {
		changes[i].HoldsVersion = must[eventstore.Holds](k)(k.Store.Holds(t.Context())).Version
	}
	stale := jobs[7:9]
	for _, j := range stale {
		k.DoJob(j, domain.ReprioritiseJob{Priority: 9}, Operator())
	}
	twins := jobs[20:22]
	for _, j := range twins {
		c := jobChange(k, k.Job(j), domain.ReprioritiseJob{Priority: 1}, domain.Facts{})
		changes = append(changes, c)
	}
	errs := make([]error, len(changes))
	var all sync.WaitGroup
	for i, c := range changes {
		all.Go(func() { errs[i] = k.commit(c)() })
	}
	all.Wait()
	won := map[domain.JobID]int{}
	for i, c := range changes {
		id := c.Job.To.ID
		switch err := errs[i]; {
		case err == nil:
			won[id]++
		case !errors.Is(err, eventstore.ErrConflict):
			t.Errorf("%s: %v", id, err)
		}
	}
	for _, j := range jobs {
		want, version := 1, int64(2)
		if slices.Contains(stale, j) {
			want = 0
		}
		if now := k.Job(j).State; won[j] != want || now.Version != version {
			t.Errorf("%s: %d were written, it is at version %d", j, won[j], now.Version)
		}
	}
	k.folds()
}
