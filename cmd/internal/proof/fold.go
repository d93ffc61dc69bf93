package proof

import (
	"context"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// folded is what the log says.
type folded struct {
	batches  map[domain.BatchID]domain.Batch
	jobs     map[domain.JobID]domain.Job
	settings map[domain.Aggregate]domain.Setting
	files    map[domain.FileHash]domain.File
	events   int
	moves    int // of files
}

// fold reads the whole log. An event that cannot follow is a difference.
func fold(ctx context.Context, log eventstore.Log) (*folded, []Difference, error) {
	f := &folded{batches: map[domain.BatchID]domain.Batch{}, jobs: map[domain.JobID]domain.Job{}, settings: map[domain.Aggregate]domain.Setting{},
		files: map[domain.FileHash]domain.File{}}
	var found []Difference
	for r, err := range log.Read(ctx, eventstore.ReadOptions{}) {
		if err != nil {
			return f, found, fmt.Errorf("read the log: %w", err)
		}
		f.events++
		if err := f.apply(r); err != nil {
			found = append(found, Difference{What: r.Aggregate.String(), Where: "log", Want: "an unbroken history",
				Got: fmt.Sprintf("at place %d: %v", r.Seq, err)})
		}
	}
	return f, found, nil
}

func (f *folded) apply(r domain.Recorded) (err error) {
	switch r.Aggregate.Kind {
	case domain.KindBatch:
		id := domain.BatchID(r.Aggregate.ID)
		f.batches[id], err = domain.EvolveBatch(f.batches[id], r)
	case domain.KindJob:
		id := domain.JobID(r.Aggregate.ID)
		f.jobs[id], err = domain.EvolveJob(f.jobs[id], r)
	case domain.KindSetting:
		s, known := f.settings[r.Aggregate]
		if !known {
			kind, name, _ := strings.Cut(r.Aggregate.ID, ":")
			s = domain.Setting{Kind: domain.HoldKind(kind), Name: name}
		}
		f.settings[r.Aggregate], err = domain.EvolveSetting(s, r)
	case domain.KindFile:
		f.moves++
		hash := domain.FileHash(r.Aggregate.ID)
		file, known := f.files[hash]
		if !known {
			file.Hash = hash
		}
		f.files[hash], err = domain.EvolveFile(file, r)
	default:
		err = fmt.Errorf("no history of a %s is known", r.Aggregate.Kind)
	}
	return err
}

// gone reports whether nothing of the batch is left in ZooKeeper. Of a deleted
// batch something may be left for a while; its jobs then have their own events.
func (f *folded) gone(id domain.BatchID) bool { return f.batches[id].State == domain.BatchDeleted }

// jobsOf gives the jobs of a batch that must have a reference in the sub-state.
func (f *folded) jobsOf(id domain.BatchID, sub domain.Sub) map[domain.JobID]bool {
	set := map[domain.JobID]bool{}
	for jid, j := range f.jobs {
		if j.Configuration.BatchID == id && j.State.Sub() == sub {
			set[jid] = true
		}
	}
	return set
}
