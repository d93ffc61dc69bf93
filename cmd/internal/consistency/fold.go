package consistency

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
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

// FoldAll gives what the log leaves of the live state: every batch, job and setting
// that is not gone. An event that cannot follow the one before it is an error.
func FoldAll(ctx context.Context, log eventstore.Log, progress func(Progress)) (h eventstore.History, err error) {
	info, err := log.Info(ctx)
	if err != nil {
		return h, fmt.Errorf("read the log: %w", err)
	}
	h.NextBatch, h.NextJob = 1, 1
	f := newFolded()
	for r, err := range log.Read(ctx, eventstore.ReadOptions{To: info.Last}) {
		if info.Last == 0 {
			break
		}
		if err != nil {
			return h, fmt.Errorf("read the log: %w", err)
		}
		if r.Aggregate.Kind != domain.KindFile {
			if err := f.apply(r); err != nil {
				return h, fmt.Errorf("place %d of the log: %w", r.Seq, err)
			}
		}
		h.Events, h.Epoch = h.Events+1, max(h.Epoch, r.Epoch)
		h.NextBatch = max(h.NextBatch, r.BatchID.Number()+1)
		if r.Aggregate.Kind == domain.KindJob {
			h.NextJob = max(h.NextJob, domain.JobID(r.Aggregate.ID).Number()+1)
		}
		if m, ok := domain.MoveOfFile(r.Data); ok { // its job's own events may have been lost with the outbox
			h.NextJob = max(h.NextJob, m.JobID.Number()+1)
		}
		if d, ok := r.Data.(*domain.BatchListed); ok { // reserved, if not all made
			h.NextJob = max(h.NextJob, d.Listing.FirstJID.Number()+int64(d.Listing.Rows))
		}
		if progress != nil && r.Seq%1000 == 0 {
			progress(Progress{"reading the log", int(r.Seq), int(info.Last)})
		}
	}
	left := map[domain.BatchID]bool{} // deleted batches that still have jobs
	for _, id := range slices.Sorted(maps.Keys(f.jobs)) {
		j := f.jobs[id]
		b := f.batches[j.Configuration.BatchID]
		if j.State == domain.JobDeleted || b.Cleaned() {
			continue // a cleaned batch's jobs go without events
		}
		left[b.ID] = true
		h.Jobs = append(h.Jobs, j)
	}
	for _, id := range slices.Sorted(maps.Keys(f.batches)) {
		if b := f.batches[id]; b.State != domain.BatchDeleted || left[id] {
			b.NextRow = f.made[id]
			h.Batches = append(h.Batches, b)
		}
	}
	for _, a := range slices.SortedFunc(maps.Keys(f.settings), func(a, b domain.Aggregate) int { return cmp.Compare(a.ID, b.ID) }) {
		h.Settings = append(h.Settings, f.settings[a])
	}
	return h, nil
}
