package consistency

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// folded is what the log says of some of the batches, with their jobs and files.
type folded struct {
	batches  map[domain.BatchID]domain.Batch
	jobs     map[domain.JobID]domain.Job
	settings map[domain.Aggregate]domain.Setting
	files    map[domain.FileHash]domain.File
	made     map[domain.BatchID]int // jobs
	broken   map[domain.Aggregate]bool
}

func newFolded() *folded {
	return &folded{batches: map[domain.BatchID]domain.Batch{}, jobs: map[domain.JobID]domain.Job{}, settings: map[domain.Aggregate]domain.Setting{},
		files: map[domain.FileHash]domain.File{}, made: map[domain.BatchID]int{}, broken: map[domain.Aggregate]bool{}}
}

// partOf spreads batches, with all that belongs to them, over the passes.
func partOf(batch domain.BatchID, id string, parts uint32) uint32 {
	if parts <= 1 {
		return 0
	}
	h := fnv.New32a()
	if batch != "" {
		id = string(batch)
	}
	_, _ = h.Write([]byte(id))
	return h.Sum32() % parts
}

// fold reads the log up to where the check began. An event that cannot follow is a
// finding, and its aggregate is not looked at further.
func (c *checker) fold(ctx context.Context, part uint32) (*folded, error) {
	f := newFolded()
	if c.last == 0 {
		return f, nil
	}
	for r, err := range c.Log.Read(ctx, eventstore.ReadOptions{To: c.last}) {
		if err != nil {
			return f, fmt.Errorf("read the log: %w", err)
		}
		if r.Seq%1000 == 0 {
			c.tell("reading the log", int(r.Seq), int(c.last))
		}
		if partOf(r.BatchID, r.Aggregate.ID, c.parts) != part || f.broken[r.Aggregate] {
			continue
		}
		if err := f.apply(r); err != nil {
			f.broken[r.Aggregate] = true
			c.found(finding(HistoryBroken, r.Aggregate.String(), fmt.Sprintf("place %d", r.Seq), "the next event", err.Error()))
		}
	}
	for a := range f.broken {
		f.forget(a)
		delete(c.jobs, domain.JobID(a.ID))
		delete(c.bids, domain.BatchID(a.ID))
		delete(c.sets, a)
	}
	return f, nil
}

func (f *folded) forget(a domain.Aggregate) {
	switch a.Kind {
	case domain.KindBatch:
		delete(f.batches, domain.BatchID(a.ID))
	case domain.KindJob:
		delete(f.jobs, domain.JobID(a.ID))
	case domain.KindSetting:
		delete(f.settings, a)
	case domain.KindFile:
		delete(f.files, domain.FileHash(a.ID))
	}
}

func (f *folded) apply(r domain.Recorded) (err error) {
	switch r.Aggregate.Kind {
	case domain.KindBatch:
		id := domain.BatchID(r.Aggregate.ID)
		f.batches[id], err = domain.EvolveBatch(f.batches[id], r)
	case domain.KindJob:
		id := domain.JobID(r.Aggregate.ID)
		f.jobs[id], err = domain.EvolveJob(f.jobs[id], r)
		if r.Version == 1 {
			f.made[r.BatchID]++
		}
	case domain.KindSetting:
		s, known := f.settings[r.Aggregate]
		if !known {
			s = settingOf(r.Aggregate)
		}
		f.settings[r.Aggregate], err = domain.EvolveSetting(s, r)
	case domain.KindFile:
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

// settingOf gives a setting that was never set.
func settingOf(a domain.Aggregate) domain.Setting {
	kind, name, _ := strings.Cut(a.ID, ":")
	return domain.Setting{Kind: domain.HoldKind(kind), Name: name}
}

// history reads all events of one aggregate.
func (c *checker) history(ctx context.Context, a domain.Aggregate) ([]domain.Recorded, error) {
	var all []domain.Recorded
	for r, err := range c.Log.Read(ctx, eventstore.ReadOptions{Aggregate: &a}) {
		if err != nil {
			return nil, fmt.Errorf("read the history of %s: %w", a, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// foldTo folds a history up to a version, 0 = all of it.
func foldTo[S any](zero S, evolve func(S, domain.Recorded) (S, error), events []domain.Recorded, version int64) (S, error) {
	s := zero
	for _, r := range events {
		if version > 0 && r.Version > version {
			break
		}
		var err error
		if s, err = evolve(s, r); err != nil {
			return s, err
		}
	}
	return s, nil
}
