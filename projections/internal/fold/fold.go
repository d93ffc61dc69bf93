// Package fold turns events into rows. Each read model has a file: how it folds events,
// and how its row is converted back to the state of package domain.
package fold

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// Fold holds the work of one transaction: the states that its events change, and the rows
// that it adds. After [Fold.Written] it is used for the next transaction, which need not
// read the states again.
type Fold struct {
	batches  *states[*batchState]
	jobs     *states[*jobState]
	files    *states[*fileState]
	counts   *states[*countState]
	settings *states[*settingState]
	deposits *states[*depositState]
	queries  *states[*queryState]
	slots    *states[*slotState]
	entries  *states[*entryState]

	events          []pgdb.AccessionEvent
	transitions     []pgdb.AccessionJobTransition
	fileTransitions []pgdb.AccessionFileTransition
	slotTransitions []pgdb.AccessionSlotTransition
	reports         []pgdb.AccessionBatchReport
	retries         retries
	lateJobs        lateJobs

	round int // number of this transaction, from 0
}

// New returns a fold that knows no state.
func New() *Fold {
	return &Fold{
		batches: newStates[*batchState](), jobs: newStates[*jobState](), settings: newStates[*settingState](),
		files: newStates[*fileState](), counts: newStates[*countState](), deposits: newStates[*depositState](), queries: newStates[*queryState](), entries: newStates[*entryState](),
		slots:   newStates[*slotState](),
		retries: retries{byKey: map[attemptKey]*Retry{}},
	}
}

// keySet is a set of keys.
type keySet map[string]bool

// keysToLoad are the keys of the states that must be read, by read model.
type keysToLoad struct{ batches, jobs, files, counts, settings, deposits, queries, slots, entries keySet }

func newKeysToLoad() keysToLoad {
	return keysToLoad{keySet{}, keySet{}, keySet{}, keySet{}, keySet{}, keySet{}, keySet{}, keySet{}, keySet{}}
}

// ensureStates adds the states that an event changes and the fold does not have, and adds
// the keys of those that may have a row to toLoad.
func (f *Fold) ensureStates(r domain.Recorded, toLoad keysToLoad) {
	id, first := r.Aggregate.ID, r.Version == 1
	if r.BatchID != "" && r.Aggregate.Kind != domain.KindFile {
		f.batches.ensure(string(r.BatchID), f.round, func() *batchState { return newBatch(r.BatchID) }, toLoad.batches, false)
	}
	switch r.Aggregate.Kind {
	case domain.KindBatch:
		f.batches.ensure(id, f.round, func() *batchState { return newBatch(domain.BatchID(id)) }, toLoad.batches, false)
		f.deposits.ensure(id, f.round, func() *depositState { return &depositState{} }, toLoad.deposits, first)
	case domain.KindJob:
		f.ensureJob(domain.JobID(id), toLoad, first)
	case domain.KindSetting:
		f.settings.ensure(id, f.round, func() *settingState { return &settingState{} }, toLoad.settings, first)
	case domain.KindQuery:
		f.queries.ensure(id, f.round, func() *queryState { return &queryState{} }, toLoad.queries, first)
		f.deposits.ensure(id, f.round, func() *depositState { return &depositState{} }, toLoad.deposits, first)
	case domain.KindSlot:
		f.slots.ensure(id, f.round, func() *slotState { return &slotState{} }, toLoad.slots, first)
	case domain.KindEntry:
		f.entries.ensure(id, f.round, func() *entryState { return &entryState{} }, toLoad.entries, first)
	case domain.KindFile:
		f.files.ensure(id, f.round, func() *fileState { return newFile(domain.FileHash(id)) }, toLoad.files, first)
		if m, ok := domain.MoveOfFile(r.Data); ok && first && m.JobID != "" {
			f.ensureJob(m.JobID, toLoad, false) // whose submitter is the file's
		}
	}
	for _, key := range countsOf(r) {
		f.counts.ensure(key, f.round, func() *countState { return &countState{AccessionFileCount: pgdb.AccessionFileCount{ID: key}} }, toLoad.counts, false)
	}
}

func (f *Fold) ensureJob(id domain.JobID, toLoad keysToLoad, first bool) {
	f.jobs.ensure(string(id), f.round, func() *jobState { return newJob(id) }, toLoad.jobs, first)
}

// Load reads the states that the events change and that the fold does not have. A state is
// found by its key: the id of its aggregate, or the name of a counter of files.
func (f *Fold) Load(ctx context.Context, q *pgdb.Queries, events []domain.Recorded) error {
	toLoad := newKeysToLoad()
	for _, r := range events {
		f.ensureStates(r, toLoad)
	}
	for _, step := range []struct {
		what string
		keys keySet
		load func(context.Context, *pgdb.Queries, []string) error
	}{
		{"batches", toLoad.batches, f.loadBatches}, {"jobs", toLoad.jobs, f.loadJobs}, {"files", toLoad.files, f.loadFiles},
		{"counters of files", toLoad.counts, f.loadFileCounts}, {"settings", toLoad.settings, f.loadSettings},
		{"deposits", toLoad.deposits, f.loadDeposits}, {"queries", toLoad.queries, f.loadQueries}, {"entries", toLoad.entries, f.loadEntries},
		{"slots", toLoad.slots, f.loadSlots},
	} {
		if len(step.keys) == 0 {
			continue
		}
		if err := step.load(ctx, q, keys(step.keys)); err != nil {
			return fmt.Errorf("load %s: %w", step.what, err)
		}
	}
	return nil
}

// Apply folds one event. inHistory says that its row in the history exists already.
func (f *Fold) Apply(r domain.Recorded, inHistory bool) error {
	var err error
	if !inHistory {
		err = f.addHistory(r)
	}
	if err == nil {
		err = f.foldState(r)
	}
	return eventError(r, err)
}

// History adds the event's row in the history, and does not fold it.
func (f *Fold) History(r domain.Recorded) error { return eventError(r, f.addHistory(r)) }

// ApplyState folds an event into the states only, without reading from the tables.
func (f *Fold) ApplyState(r domain.Recorded) error {
	f.ensureStates(r, newKeysToLoad())
	return eventError(r, f.foldState(r))
}

// foldState folds one event into the state of its aggregate, by the read model of its
// kind.
func (f *Fold) foldState(r domain.Recorded) error {
	switch r.Aggregate.Kind {
	case domain.KindBatch:
		return f.batch(r)
	case domain.KindJob:
		return f.job(r)
	case domain.KindSetting:
		return f.setting(r)
	case domain.KindFile:
		return f.file(r)
	case domain.KindQuery:
		return f.query(r)
	case domain.KindSlot:
		return f.slot(r)
	case domain.KindEntry:
		return f.entry(r)
	default:
		return fmt.Errorf("there is no read model for a %s", r.Aggregate.Kind)
	}
}

// Step writes the rows of one table.
type Step func(ctx context.Context, tx pgx.Tx) error

// Write writes all new and changed rows to the tables.
func (f *Fold) Write(ctx context.Context, tx pgx.Tx, names migrations.Names) error {
	return WriteAll(ctx, tx, f.Steps(names))
}

// WriteAll runs the steps in order.
func WriteAll(ctx context.Context, tx pgx.Tx, steps []Step) error {
	for _, s := range steps {
		if err := s(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// Steps returns the steps that write all rows as they are now; later events do not
// change them.
func (f *Fold) Steps(names migrations.Names) []Step {
	in := func(tx pgx.Tx) *pgdb.Queries { return tables.Queries(tx, names) }
	schema := names.Tables
	resolved := f.retries.rows(false)
	freshSettings, settings := changed(f.settings)
	freshQueries, queries := changed(f.queries)
	freshSlots, slots := changed(f.slots)
	freshEntries, entries := changed(f.entries)
	return slices.Concat(
		copySteps(schema, "event", f.events),
		writeSteps(names, batchChange, f.batches),
		writeSteps(names, jobChange, f.jobs),
		copySteps(schema, "job_transition", f.transitions),
		writeSteps(names, fileChange, f.files),
		f.lateJobs.steps(in),
		copySteps(schema, "file_transition", f.fileTransitions),
		writeSteps(names, countChange, f.counts),
		writeSteps(names, depositChange, f.deposits),
		copySteps(schema, "retry", f.retries.rows(true)),
		[]Step{func(ctx context.Context, tx pgx.Tx) error {
			return Put(ctx, "retry", in(tx).ResolveRetries, resolved)
		}},
		copySteps(schema, "batch_report", f.reports),
		copySteps(schema, "setting", freshSettings),
		[]Step{func(ctx context.Context, tx pgx.Tx) error {
			return Put(ctx, "setting", in(tx).UpsertSettings, settings)
		}},
		copySteps(schema, "query", freshQueries),
		[]Step{func(ctx context.Context, tx pgx.Tx) error {
			return Put(ctx, "query", in(tx).UpdateQueries, queries)
		}},
		copySteps(schema, "slot", freshSlots),
		[]Step{func(ctx context.Context, tx pgx.Tx) error {
			return Put(ctx, "slot", in(tx).UpdateSlots, slots)
		}},
		copySteps(schema, "slot_transition", f.slotTransitions),
		copySteps(schema, "compute_entry", freshEntries),
		[]Step{func(ctx context.Context, tx pgx.Tx) error {
			return Put(ctx, "compute_entry", in(tx).UpdateComputeEntries, entries)
		}},
	)
}

// Written makes the fold ready for the next transaction, after the rows were committed. It
// drops states that no event of the last two rounds has changed: those that have ended, and
// any while there are more than most of one read model. They are in the tables, from which
// Load reads them again.
func (f *Fold) Written(most int) {
	// The next transaction will probably have as many events.
	f.events, f.reports = make([]pgdb.AccessionEvent, 0, len(f.events)), nil
	f.transitions = make([]pgdb.AccessionJobTransition, 0, len(f.transitions))
	f.fileTransitions = make([]pgdb.AccessionFileTransition, 0, len(f.fileTransitions))
	f.slotTransitions = nil
	f.retries, f.lateJobs = retries{byKey: map[attemptKey]*Retry{}}, lateJobs{}
	f.batches.written(f.round, most)
	f.jobs.written(f.round, most)
	f.files.written(f.round, most)
	f.counts.written(f.round, most)
	f.settings.written(f.round, most)
	f.deposits.written(f.round, most)
	f.queries.written(f.round, most)
	f.slots.written(f.round, most)
	f.entries.written(f.round, most)
	f.round++
}

// copySteps returns the step that writes new rows, none = there are no rows.
func copySteps[R any](schema, table string, rows []R) []Step {
	if len(rows) == 0 {
		return nil
	}
	return []Step{func(ctx context.Context, tx pgx.Tx) error { return copyRows(ctx, tx, schema, table, rows) }}
}

// writeSteps returns the steps that write the states of one kind that have changed: new
// ones are added, others updated.
func writeSteps[R any, S row[R]](names migrations.Names, c change, s *states[S]) []Step {
	fresh, old := changed(s)
	return append(copySteps(names.Tables, c.table, fresh), func(ctx context.Context, tx pgx.Tx) error {
		return updateRows(ctx, tx, names.Tables, c, old)
	})
}

// Put writes rows in one statement, as one JSON array; without rows it does nothing.
func Put[R any](ctx context.Context, what string, write func(context.Context, []byte) error, rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	data, err := json.Marshal(rows)
	if err == nil {
		err = write(ctx, data)
	}
	if err != nil {
		return fmt.Errorf("write %d rows of %s: %w", len(rows), what, err)
	}
	return nil
}
