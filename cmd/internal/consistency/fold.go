package consistency

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/eventstore"
)

// kind describes aggregates of one kind: how they are folded, and what their states
// are identified by.
type kind[S any] struct {
	name   string // of the table
	zero   func(domain.Aggregate) S
	evolve func(S, domain.Recorded) (S, error)
	key    func(S) key
}

// key identifies a state.
type key struct {
	aggregate domain.Aggregate
	batch     domain.BatchID // "" = it has none, or it is not known
	version   int64
}

var (
	batches = kind[domain.Batch]{"batch",
		func(a domain.Aggregate) domain.Batch { return domain.Batch{ID: domain.BatchID(a.ID)} }, domain.EvolveBatch,
		func(b domain.Batch) key { return key{b.ID.Aggregate(), b.ID, b.Version} }}
	jobs = kind[domain.Job]{"job",
		func(a domain.Aggregate) domain.Job { return domain.Job{ID: domain.JobID(a.ID)} }, domain.EvolveJob,
		func(j domain.Job) key { return key{j.ID.Aggregate(), j.Configuration.BatchID, j.Version} }}
	files = kind[domain.File]{"file",
		func(a domain.Aggregate) domain.File { return domain.File{Hash: domain.FileHash(a.ID)} }, domain.EvolveFile,
		func(f domain.File) key { return key{f.Hash.Aggregate(), f.Spec.BatchID, f.Version} }}
	queries = kind[lookup.Query]{"query",
		func(a domain.Aggregate) lookup.Query { return lookup.Query{ID: domain.QueryID(a.ID)} }, lookup.Evolve,
		func(q lookup.Query) key { return key{q.ID.Aggregate(), "", q.Version} }}
	slots = kind[slot.Slot]{"slot",
		func(a domain.Aggregate) slot.Slot { return slot.Slot{ID: slot.ID(a.ID)} }, slot.Evolve,
		func(s slot.Slot) key { return key{s.ID.Aggregate(), "", s.Version} }}
	entries = kind[compute.Entry]{"compute_entry",
		func(a domain.Aggregate) compute.Entry { return compute.Entry{ID: compute.ID(a.ID)} }, compute.Evolve,
		func(e compute.Entry) key { return key{e.ID.Aggregate(), "", e.Version} }}
	settings = kind[domain.Setting]{"setting",
		func(a domain.Aggregate) domain.Setting {
			kind, name, _ := strings.Cut(a.ID, ":")
			return domain.Setting{Kind: domain.SettingKind(kind), Name: name}
		}, domain.EvolveSetting,
		func(s domain.Setting) key { return key{s.Aggregate(), "", s.Version} }}
)

// fold folds a history up to a version, 0 = all of it.
func (k kind[S]) fold(a domain.Aggregate, events []domain.Recorded, version int64) (s S, err error) {
	s = k.zero(a)
	for _, r := range events {
		if version > 0 && r.Version > version {
			break
		}
		if s, err = k.evolve(s, r); err != nil {
			return s, err
		}
	}
	return s, nil
}

// apply folds one event into the states of its kind.
func (k kind[S]) apply(states map[domain.Aggregate]S, r domain.Recorded) (err error) {
	s, known := states[r.Aggregate]
	if !known {
		s = k.zero(r.Aggregate)
	}
	states[r.Aggregate], err = k.evolve(s, r)
	return err
}

// folded is what the log says of some of the batches, with their jobs and files.
type folded struct {
	batches  map[domain.Aggregate]domain.Batch
	jobs     map[domain.Aggregate]domain.Job
	settings map[domain.Aggregate]domain.Setting
	files    map[domain.Aggregate]domain.File
	queries  map[domain.Aggregate]lookup.Query
	slots    map[domain.Aggregate]slot.Slot
	entries  map[domain.Aggregate]compute.Entry
	made     map[domain.BatchID]int // jobs
	broken   map[domain.Aggregate]bool
}

func newFolded() *folded {
	return &folded{map[domain.Aggregate]domain.Batch{}, map[domain.Aggregate]domain.Job{}, map[domain.Aggregate]domain.Setting{},
		map[domain.Aggregate]domain.File{}, map[domain.Aggregate]lookup.Query{}, map[domain.Aggregate]slot.Slot{}, map[domain.Aggregate]compute.Entry{}, map[domain.BatchID]int{}, map[domain.Aggregate]bool{}}
}

func (f *folded) apply(r domain.Recorded) error {
	switch r.Aggregate.Kind {
	case domain.KindBatch:
		return batches.apply(f.batches, r)
	case domain.KindJob:
		if r.Version == 1 {
			f.made[r.BatchID]++
		}
		return jobs.apply(f.jobs, r)
	case domain.KindSetting:
		return settings.apply(f.settings, r)
	case domain.KindFile:
		return files.apply(f.files, r)
	case domain.KindQuery:
		return queries.apply(f.queries, r)
	case domain.KindSlot:
		return slots.apply(f.slots, r)
	case domain.KindEntry:
		return entries.apply(f.entries, r)
	}
	return fmt.Errorf("unknown kind of aggregate: %s", r.Aggregate.Kind)
}

// partOf assigns a batch, with all that belongs to it, to one of the passes.
func partOf(batch domain.BatchID, id string, parts uint32) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(cmp.Or(string(batch), id)))
	return h.Sum32() % parts
}

// fold reads the log up to where the check began. An event that cannot follow is a
// finding, and its aggregate is not compared further. The first pass also compares each
// event with its row.
func (c *checker) fold(ctx context.Context, part uint32) (*folded, error) {
	f := newFolded()
	var history *historyCheck
	if part == 0 {
		var err error
		if history, err = c.newHistoryCheck(ctx); err != nil {
			return f, err
		}
		if history != nil {
			defer history.close()
		}
	}
	for r, err := range readLog(ctx, c.Log, c.last, c.Progress, "reading the log") {
		if err != nil {
			return f, err
		}
		c.highest.meet(r)
		meet(c.atRings, r)
		if history != nil {
			if err := history.compare(r); err != nil {
				return f, err
			}
		}
		if partOf(r.BatchID, r.Aggregate.ID, c.parts) != part || f.broken[r.Aggregate] {
			continue
		}
		if c.Observe != nil {
			c.Observe(r)
		}
		if err := f.apply(r); err != nil {
			f.broken[r.Aggregate] = true
			c.report(finding(HistoryBroken, r.Aggregate.String(), fmt.Sprintf("sequence %d", r.Seq), "the next event", err.Error()))
		}
	}
	for a := range f.broken {
		delete(f.batches, a)
		delete(f.jobs, a)
		delete(f.settings, a)
		delete(f.files, a)
		delete(f.queries, a)
		delete(f.slots, a)
		delete(f.entries, a)
		delete(c.unseen, a)
	}
	return f, nil
}

// readLog reads the log up to a sequence and reports how far it is. It ends after
// the first error.
func readLog(ctx context.Context, log eventstore.Log, to uint64, progress ProgressFunc, doing string) iter.Seq2[domain.Recorded, error] {
	return func(yield func(domain.Recorded, error) bool) {
		if to == 0 {
			return
		}
		for r, err := range log.Read(ctx, eventstore.ReadOptions{To: to}) {
			if err != nil {
				yield(r, fmt.Errorf("read the log: %w", err))
				return
			}
			if r.Seq%1000 == 0 {
				progress.Report(doing, int(r.Seq), int(to))
			}
			if !yield(r, nil) {
				return
			}
		}
	}
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

// FoldAll returns the live state that the log leaves: every batch, job and setting
// that is not gone. An event that cannot follow the one before it is an error.
func FoldAll(ctx context.Context, log eventstore.Log, progress ProgressFunc) (h eventstore.History, err error) {
	info, err := log.Info(ctx)
	if err != nil {
		return h, fmt.Errorf("read the log: %w", err)
	}
	h.NextBatch, h.NextJob = 1, 1
	f := newFolded()
	h.Rings, h.NextQuery, h.NextEntry = map[string]eventstore.RingState{}, 1, 1
	for r, err := range readLog(ctx, log, info.Last, progress, "reading the log") {
		if err != nil {
			return h, err
		}
		if !r.Aggregate.Kind.OfLog() {
			if err := f.apply(r); err != nil {
				return h, fmt.Errorf("sequence %d of the log: %w", r.Seq, err)
			}
		}
		meet(h.Rings, r)
		h.NextQuery = max(h.NextQuery, domain.QueryID(r.Aggregate.ID).Number()+1)
		h.NextEntry = max(h.NextEntry, compute.ID(r.Aggregate.ID).Sequence()+1)
		h.Events, h.Epoch = h.Events+1, max(h.Epoch, r.Epoch)
		h.LogSeq, h.LogEvent = r.Seq, r.ID()
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
	}
	left := map[domain.BatchID]bool{} // deleted batches that still have jobs
	for j := range byID(f.jobs) {
		b := f.batches[j.Configuration.BatchID.Aggregate()]
		if j.State == domain.JobDeleted || b.Cleaned() {
			continue // a cleaned batch's jobs go without events
		}
		left[b.ID] = true
		h.Jobs = append(h.Jobs, j)
	}
	for b := range byID(f.batches) {
		if b.State != domain.BatchDeleted || left[b.ID] {
			b.NextRow = f.made[b.ID]
			h.Batches = append(h.Batches, b)
		}
	}
	h.Settings = slices.Collect(byID(f.settings))
	for q := range byID(f.queries) {
		if !q.State.Ended() {
			h.Queries = append(h.Queries, q)
		}
	}
	for e := range byID(f.entries) {
		if e.State != entry.Purged {
			h.Entries = append(h.Entries, e)
		}
	}
	return h, nil
}

// byID iterates over states in the order of their ids.
func byID[S any](states map[domain.Aggregate]S) iter.Seq[S] {
	return func(yield func(S) bool) {
		for _, a := range slices.SortedFunc(maps.Keys(states), func(a, b domain.Aggregate) int { return cmp.Compare(a.ID, b.ID) }) {
			if !yield(states[a]) {
				return
			}
		}
	}
}
