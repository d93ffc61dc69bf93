package zklive_test

import (
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// TestEndedBatchesFillNothing: batches that have failed or completed do not count against
// the limit, and all others do, whatever their number.
// Shows: P8
func TestEndedBatchesFillNothing(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	k := storetest.NewKit(t, w.store)
	completed, jobs := k.Started(5)
	k.Walk(jobs[0], domain.JobCompleted)
	k.Reported(completed)
	failed, jobs := k.Started(5)
	k.Fail(jobs[0], domain.JobDownloading)
	k.Reported(failed)
	k.Started(5)
	k.Submit()
	for limit, want := range map[int]int{2: 2, 3: 2, 4: 2, 5: 4} {
		load, err := w.open(t, zklive.Config{QueueLimit: limit}).Load(t.Context())
		if err != nil || load.Unended != want {
			t.Errorf("with a limit of %d, %d batches count (%v), want %d", limit, load.Unended, err, want)
		}
	}
	asks := storetest.NewRingKit(t, w.store) // a query that waits, one that runs, and one that has ended
	asks.Ask("ana1 ben1 cleo1")
	asks.AnswerQuery(asks.GrabQuery())
	asks.GrabQuery()
	for limit, want := range map[int]int{6: 4, 7: 4, 8: 7} {
		load, err := w.open(t, zklive.Config{QueueLimit: limit}).Load(t.Context())
		if err != nil || load.Queries != 3 || load.Unended != want {
			t.Errorf("with queries, and a limit of %d, %+v (%v), want %d", limit, load, err, want)
		}
	}
	full := w.open(t, zklive.Config{QueueLimit: 2})
	for range 2 {
		if load, err := full.Load(t.Context()); err != nil || load.Unended < 2 {
			t.Errorf("%d batches count (%v)", load.Unended, err)
		}
		k.Submit()
	}
	if load, err := full.Load(t.Context()); err != nil || load.Unended != 6 {
		t.Errorf("%d batches and queries count (%v), want 6", load.Unended, err)
	}
}
