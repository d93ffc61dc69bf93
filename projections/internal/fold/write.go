package fold

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// row is a state that has a row.
type row[R any] interface {
	columns() R
	state() *kept
}

// Step writes some rows.
type Step func(ctx context.Context, tx pgx.Tx) error

// Write puts the outcome into the tables.
func (f *Fold) Write(ctx context.Context, tx pgx.Tx, names migrations.Names) error {
	return WriteAll(ctx, tx, f.Steps(names))
}

// WriteAll writes what steps hold.
func WriteAll(ctx context.Context, tx pgx.Tx, steps []Step) error {
	for _, s := range steps {
		if err := s(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// Steps returns all rows as they are now; what the fold does later does not change
// them.
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

// Written makes the fold ready for the next events. It remembers the states, but drops
// those that no event of the last rounds touched while there are more than so many of
// a sort: they are in the tables.
func (f *Fold) Written(most int) {
	// As many more will come as have come.
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

// changes writes the states of one sort that have changed: new ones are added,
// others updated.
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

// Put writes rows in one statement, as one JSON array; no rows, no statement.
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
