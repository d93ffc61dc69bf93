package fold

import (
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
	f.jobs["ended"] = &jobState{Job: domain.Job{State: domain.JobCompleted, Cleaned: true}}
	f.jobs["going"] = &jobState{Job: domain.Job{State: domain.JobCompleted}}
	f.jobs["deleted"] = &jobState{Job: domain.Job{State: domain.JobDeleted}}
	f.batches["ended"] = &batchState{Batch: domain.Batch{State: domain.BatchCompleted}}
	f.batches["going"] = &batchState{Batch: domain.Batch{State: domain.BatchProcessing}}
	f.files["ended"] = &fileState{File: domain.File{State: domain.FileProcessed}}
	f.files["going"] = &fileState{File: domain.File{State: domain.FileReady}}
	f.counts["ended"] = &countState{}
	f.counts["going"] = &countState{AccessionFileCount: pgdb.AccessionFileCount{FilesInProgress: 1}}
	for _, s := range f.jobs {
		s.dirty = true
	}
	for range inFlight {
		f.Written(1000)
		if len(f.jobs) != 3 {
			t.Fatal("states were dropped before they were in the tables")
		}
	}
	f.Written(1000)
	if len(f.jobs) != 1 || f.jobs["going"] == nil || len(f.batches) != 1 || f.batches["going"] == nil ||
		len(f.files) != 1 || f.files["going"] == nil || len(f.counts) != 1 || f.counts["going"] == nil {
		t.Errorf("left: %v %v %v %v", f.jobs, f.batches, f.files, f.counts)
	}
}
