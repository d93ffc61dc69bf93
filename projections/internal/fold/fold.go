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

// Fold is the work of one transaction: the states that its events touch, and the
// rows that it adds. It can be used again after [Fold.Written]; it then remembers
// the states.
type Fold struct {
	batches  map[string]*batchState
	jobs     map[string]*jobState
	files    map[string]*fileState
	counts   map[string]*countState
	settings map[string]*settingState

	events          []pgdb.AccessionEvent
	transitions     []pgdb.AccessionJobTransition
	fileTransitions []pgdb.AccessionFileTransition
	reports         []pgdb.AccessionBatchReport
	retries         retries

	round int // counts transactions
}

// kept says whether the row of a state is stored, whether it must be written, and in
// which round an event last changed it.
type kept struct {
	stored, dirty bool
	round         int
}

// New returns a fold that knows no state.
func New() *Fold {
	return &Fold{
		batches: map[string]*batchState{}, jobs: map[string]*jobState{}, settings: map[string]*settingState{},
		files: map[string]*fileState{}, counts: map[string]*countState{},
		retries: retries{byKey: map[attemptKey]*Retry{}},
	}
}

// wanted are the keys of states that must be read.
type wanted map[string]bool

// want adds the state of an unknown key, and to ask the key to read. For the first
// event of an aggregate nothing needs to be read.
func want[S interface{ state() *kept }](f *Fold, states map[string]S, key string, begin func() S, ask wanted, first bool) {
	s, known := states[key]
	if !known {
		s = begin()
		states[key] = s
		if !first {
			ask[key] = true
		}
	}
	s.state().round = f.round
}

// asked are the keys of the states that must be read, by read model.
type asked struct{ batches, jobs, files, counts, settings wanted }

func newAsked() asked { return asked{wanted{}, wanted{}, wanted{}, wanted{}, wanted{}} }

func (f *Fold) begin(r domain.Recorded, ask asked) {
	id, first := r.Aggregate.ID, r.Version == 1
	if r.BatchID != "" && r.Aggregate.Kind != domain.KindFile {
		want(f, f.batches, string(r.BatchID), func() *batchState { return newBatch(r.BatchID) }, ask.batches, false)
	}
	switch r.Aggregate.Kind {
	case domain.KindBatch:
		want(f, f.batches, id, func() *batchState { return newBatch(domain.BatchID(id)) }, ask.batches, false)
	case domain.KindJob:
		want(f, f.jobs, id, func() *jobState { return newJob(domain.JobID(id)) }, ask.jobs, first)
	case domain.KindSetting:
		want(f, f.settings, id, func() *settingState { return &settingState{} }, ask.settings, first)
	case domain.KindFile:
		want(f, f.files, id, func() *fileState { return newFile(domain.FileHash(id)) }, ask.files, first)
	}
	for _, key := range countsOf(r) {
		want(f, f.counts, key, func() *countState { return &countState{AccessionFileCount: pgdb.AccessionFileCount{ID: key}} }, ask.counts, false)
	}
}

// Load reads the states that the events touch and that the fold does not know.
func (f *Fold) Load(ctx context.Context, q *pgdb.Queries, events []domain.Recorded) error {
	ask := newAsked()
	for _, r := range events {
		f.begin(r, ask)
	}
	for _, step := range []struct {
		what string
		ask  wanted
		load func(context.Context, *pgdb.Queries, []string) error
	}{
		{"batches", ask.batches, f.loadBatches}, {"jobs", ask.jobs, f.loadJobs}, {"files", ask.files, f.loadFiles},
		{"counters of files", ask.counts, f.loadFileCounts}, {"settings", ask.settings, f.loadSettings},
	} {
		if len(step.ask) == 0 {
			continue
		}
		if err := step.load(ctx, q, keys(step.ask)); err != nil {
			return fmt.Errorf("load %s: %w", step.what, err)
		}
	}
	return nil
}

// Apply folds one event. inHistory says that its row in the history exists already.
func (f *Fold) Apply(r domain.Recorded, inHistory bool) error {
	var err error
	if !inHistory {
		err = f.history(r)
	}
	if err == nil {
		err = f.states(r)
	}
	return eventError(r, err)
}

// History adds the event's row in the history, and does not fold it.
func (f *Fold) History(r domain.Recorded) error { return eventError(r, f.history(r)) }

// Remember folds an event into the states only, without reading from the tables.
func (f *Fold) Remember(r domain.Recorded) error {
	f.begin(r, newAsked())
	return eventError(r, f.states(r))
}

// states folds one event into the read model of its aggregate's state.
func (f *Fold) states(r domain.Recorded) error {
	switch r.Aggregate.Kind {
	case domain.KindBatch:
		return f.batch(r)
	case domain.KindJob:
		return f.job(r)
	case domain.KindSetting:
		return f.setting(r)
	case domain.KindFile:
		return f.file(r)
	default:
		return fmt.Errorf("there is no read model for a %s", r.Aggregate.Kind)
	}
}

// row is a state that has a row.
type row[R any] interface {
	columns() R
	state() *kept
}

// Step writes some rows.
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
	return slices.Concat(
		added(schema, "event", f.events),
		changes(names, batchChange, f.batches),
		changes(names, jobChange, f.jobs),
		added(schema, "job_transition", f.transitions),
		changes(names, fileChange, f.files),
		added(schema, "file_transition", f.fileTransitions),
		changes(names, countChange, f.counts),
		added(schema, "retry", f.retries.rows(true)),
		[]Step{func(ctx context.Context, tx pgx.Tx) error {
			return Put(ctx, "retry", in(tx).ResolveRetries, resolved)
		}},
		added(schema, "batch_report", f.reports),
		added(schema, "setting", freshSettings),
		[]Step{func(ctx context.Context, tx pgx.Tx) error {
			return Put(ctx, "setting", in(tx).UpsertSettings, settings)
		}},
	)
}

// Written makes the fold ready for the next events. It keeps the states, but while
// there are more than most of a kind it drops those that no event of the last rounds
// has changed: they are in the tables.
func (f *Fold) Written(most int) {
	// The next transaction will probably have as many events.
	f.events, f.reports = make([]pgdb.AccessionEvent, 0, cap(f.events)), nil
	f.transitions = make([]pgdb.AccessionJobTransition, 0, cap(f.transitions))
	f.fileTransitions = make([]pgdb.AccessionFileTransition, 0, cap(f.fileTransitions))
	f.retries = retries{byKey: map[attemptKey]*Retry{}}
	settle(f.batches, f.round, most)
	settle(f.jobs, f.round, most)
	settle(f.files, f.round, most)
	settle(f.counts, f.round, most)
	settle(f.settings, f.round, most)
	f.round++
}

// inFlight is how many rounds may not be committed yet.
const inFlight = 2

func settle[S interface{ state() *kept }](states map[string]S, round, most int) {
	for key, s := range states {
		switch k := s.state(); {
		case k.dirty:
			k.stored, k.dirty = true, false
		case len(states) > most && k.round+inFlight <= round:
			delete(states, key)
		}
	}
}

// added writes new rows.
func added[R any](schema, table string, rows []R) []Step {
	if len(rows) == 0 {
		return nil
	}
	return []Step{func(ctx context.Context, tx pgx.Tx) error { return copyRows(ctx, tx, schema, table, rows) }}
}

// changes writes the states of one kind that have changed: new ones are added, others
// updated.
func changes[R any, S row[R]](names migrations.Names, c change, states map[string]S) []Step {
	fresh, old := changed(states)
	return append(added(names.Tables, c.table, fresh), func(ctx context.Context, tx pgx.Tx) error {
		return updateRows(ctx, tx, names.Tables, c, old)
	})
}

// changed returns the rows of states that have changed, in the order of their keys: of
// those that have no row yet, and of the others.
func changed[R any, S row[R]](states map[string]S) (fresh, old []R) {
	var dirty []string
	for key, s := range states {
		if s.state().dirty {
			dirty = append(dirty, key)
		}
	}
	slices.Sort(dirty)
	for _, key := range dirty {
		if s := states[key]; s.state().stored {
			old = append(old, s.columns())
		} else {
			fresh = append(fresh, s.columns())
		}
	}
	return fresh, old
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
