package fold

import (
	"fmt"
	"slices"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// TestEndedStatesAreDropped: the states of what has ended leave the memory once they are
// in the tables, all others stay.
// Shows: P8
func TestEndedStatesAreDropped(t *testing.T) {
	t.Parallel()
	f := New()
	dirty := rowState{dirty: true}
	f.jobs.touch("ended", &jobState{Job: domain.Job{State: domain.JobCompleted, Cleaned: true}, rowState: dirty}, 0)
	f.jobs.touch("going", &jobState{Job: domain.Job{State: domain.JobCompleted}, rowState: dirty}, 0)
	f.jobs.touch("deleted", &jobState{Job: domain.Job{State: domain.JobDeleted}, rowState: dirty}, 0)
	f.batches.touch("ended", &batchState{Batch: domain.Batch{State: domain.BatchCompleted}}, 0)
	f.batches.touch("going", &batchState{Batch: domain.Batch{State: domain.BatchProcessing}}, 0)
	f.files.touch("ended", &fileState{File: domain.File{State: domain.FileProcessed}}, 0)
	f.files.touch("going", &fileState{File: domain.File{State: domain.FileReady}}, 0)
	f.counts.touch("ended", &countState{}, 0)
	f.counts.touch("going", &countState{AccessionFileCount: pgdb.AccessionFileCount{FilesInProgress: 1}}, 0)
	for range inFlight {
		f.Written(1000)
		if len(f.jobs.byKey) != 3 {
			t.Fatal("states were dropped before they were in the tables")
		}
	}
	f.Written(1000)
	only(t, f.jobs, "going")
	only(t, f.batches, "going")
	only(t, f.files, "going")
	only(t, f.counts, "going")
}

// TestTooManyStatesAreDropped: of more states than are to be remembered those go that no
// event has touched of late, and what is touched again stays.
func TestTooManyStatesAreDropped(t *testing.T) {
	t.Parallel()
	s := newStates[*jobState]()
	going := func() *jobState { return &jobState{Job: domain.Job{State: domain.JobEstimating}} }
	for round, key := range []string{"a", "b", "a", "c", "d"} {
		toLoad := keySet{}
		s.ensure(key, round, going, toLoad, false)
		if known := round == 2; toLoad[key] == known {
			t.Errorf("round %d loads %v", round, toLoad)
		}
		s.written(round, 2)
	}
	if left := keys(s.byKey); !slices.Equal(left, []string{"c", "d"}) {
		t.Errorf("left: %v", left)
	}
}

// TestOnlyWhatChangedIsWritten: a state is a row of the round in which it changed, once, and
// a new row once.
func TestOnlyWhatChangedIsWritten(t *testing.T) {
	t.Parallel()
	s := newStates[*jobState]()
	for round, c := range []struct {
		touched, dirty []string
		fresh, old     int
	}{
		{[]string{"a", "b", "a"}, []string{"a"}, 1, 0},
		{[]string{"a", "b"}, []string{"a", "b"}, 1, 1},
		{[]string{"b"}, nil, 0, 0},
		{[]string{"c", "b", "c"}, []string{"c", "b"}, 1, 1},
		{nil, nil, 0, 0},
	} {
		for _, key := range c.touched {
			s.ensure(key, round, func() *jobState { return newJob(domain.JobID(key)) }, keySet{}, true)
		}
		for _, key := range c.dirty {
			s.byKey[key].dirty = true
		}
		if fresh, old := changed(s); len(fresh) != c.fresh || len(old) != c.old {
			t.Errorf("round %d: %d new rows and %d changed ones, not %d and %d", round, len(fresh), len(old), c.fresh, c.old)
		}
		s.written(round, 1000)
	}
}

func only[S remembered](t *testing.T, s *states[S], key string) {
	t.Helper()
	if _, there := s.byKey[key]; len(s.byKey) != 1 || !there {
		t.Errorf("left: %v", keys(s.byKey))
	}
}

// BenchmarkRound measures what a round of one event costs beside so many states that are
// remembered.
func BenchmarkRound(b *testing.B) {
	for _, n := range []int{100, 10_000, 200_000} {
		b.Run(fmt.Sprintf("remembered=%d", n), func(b *testing.B) {
			s := newStates[*jobState]()
			begin := func() *jobState { return &jobState{Job: domain.Job{State: domain.JobEstimating}} }
			for i := range n {
				s.ensure(fmt.Sprint("job", i), 0, begin, keySet{}, true)
			}
			s.written(0, n)
			round := 0
			for b.Loop() {
				round++
				s.ensure("job1", round, begin, keySet{}, true)
				s.byKey["job1"].dirty, s.byKey["job1"].stored = true, true
				if _, old := changed(s); len(old) != 1 {
					b.Fatalf("%d rows have changed", len(old))
				}
				s.written(round, n)
			}
		})
	}
}
