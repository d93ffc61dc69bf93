package memory_test

import (
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

// A job that was released for a time comes behind all that waited when it came back,
// and before those that came later.
func TestReleasedWorkComesBehind(t *testing.T) {
	t.Parallel()
	clock := memory.NewManualClock(time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC))
	k := storetest.NewKit(t, memory.New(memory.Options{Clock: clock}).Session())
	_, jobs := k.Started(5, 5, 5)
	next := func() domain.JobID {
		t.Helper()
		_, at, err := k.Store.NextJob(t.Context(), domain.JobPending, nil)
		if err != nil {
			t.Fatal(err)
		}
		return at.State.ID
	}
	c, _, err := k.Store.NextJob(t.Context(), domain.JobPending, nil)
	if err == nil {
		err = k.Store.Release(t.Context(), c, time.Minute)
	}
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Minute)
	got := []domain.JobID{next()}
	_, more := k.Started(5)
	got = append(got, next(), next(), next())
	for i, want := range []domain.JobID{jobs[1], jobs[2], jobs[0], more[0]} {
		if got[i] != want {
			t.Errorf("number %d is %s, want %s", i+1, got[i], want)
		}
	}
}
