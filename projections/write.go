package projections

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// row is a state that has a row.
type row[R any] interface {
	columns() R
	state() *kept
}

// step writes some rows.
type step func(ctx context.Context, tx pgx.Tx) error

// write puts the outcome into the tables.
func (f *fold) write(ctx context.Context, tx pgx.Tx, names migrations.Names) error {
	return writeAll(ctx, tx, f.outcome(names))
}

func writeAll(ctx context.Context, tx pgx.Tx, steps []step) error {
	for _, s := range steps {
		if err := s(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// outcome gives all rows as they are now; what the fold does later does not change
// them.
func (f *fold) outcome(names migrations.Names) []step {
	in := func(tx pgx.Tx) *pgdb.Queries { return queriesIn(tx, names) }
	at := func(table string) string { return names.Tables + "." + table }
	resolved := f.retries.rows(false)
	freshSettings, settings := changed(f.settings)
	return slices.Concat(
		added(at("event"), f.events),
		changes(names, batchChange, f.batches),
		changes(names, jobChange, f.jobs),
		added(at("job_transition"), f.transitions),
		changes(names, fileChange, f.files),
		added(at("file_transition"), f.fileTransitions),
		changes(names, countChange, f.counts),
		added(at("retry"), f.retries.rows(true)),
		[]step{func(ctx context.Context, tx pgx.Tx) error {
			return put(ctx, "retry", in(tx).ResolveRetries, resolved)
		}},
		added(at("batch_report"), f.reports),
		added(at("setting"), freshSettings),
		[]step{func(ctx context.Context, tx pgx.Tx) error {
			return put(ctx, "setting", in(tx).UpsertSettings, settings)
		}},
	)
}

// written makes the fold ready for the next events; it remembers the states.
func (f *fold) written() {
	// As many more will come as have come.
	f.events, f.reports = make([]pgdb.AccessionEvent, 0, cap(f.events)), nil
	f.transitions = make([]pgdb.AccessionJobTransition, 0, cap(f.transitions))
	f.fileTransitions = make([]pgdb.AccessionFileTransition, 0, cap(f.fileTransitions))
	f.retries = retries{byKey: map[attemptKey]*retryRow{}}
	settled(f.batches)
	settled(f.jobs)
	settled(f.files)
	settled(f.counts)
	settled(f.settings)
	f.round++
}

// forget drops states that no event of the last rounds touched, if there are more
// than so many of a sort. What they are is in the tables.
func (f *fold) forget(most int) {
	forget(f.batches, f.round, most)
	forget(f.jobs, f.round, most)
	forget(f.files, f.round, most)
	forget(f.counts, f.round, most)
	forget(f.settings, f.round, most)
}

// inFlight is how many rounds may not be committed yet.
const inFlight = 2

func forget[S interface{ state() *kept }](states map[string]S, round, most int) {
	if len(states) <= most {
		return
	}
	for key, s := range states {
		if k := s.state(); !k.dirty && k.round+inFlight < round {
			delete(states, key)
		}
	}
}

func settled[S interface{ state() *kept }](states map[string]S) {
	for _, s := range states {
		if k := s.state(); k.dirty {
			k.stored, k.dirty = true, false
		}
	}
}

// added writes new rows.
func added[R any](table string, rows []R) []step {
	if len(rows) == 0 {
		return nil
	}
	return []step{func(ctx context.Context, tx pgx.Tx) error { return copyRows(ctx, tx, table, rows) }}
}

// changes writes the states of one sort that have changed: new ones are added,
// others updated.
func changes[R any, S row[R]](names migrations.Names, c change, states map[string]S) []step {
	fresh, old := changed(states)
	return append(added(names.Tables+"."+c.table, fresh), func(ctx context.Context, tx pgx.Tx) error {
		return updateRows(ctx, tx, names.Tables, c, old)
	})
}

// changed gives the rows of states that have changed, in the order of their keys: of
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

// put writes rows in one statement, as one JSON array; no rows, no statement.
func put[R any](ctx context.Context, what string, write func(context.Context, []byte) error, rows []R) error {
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

// columnsOfAll gives the rows of all states, in the order of their keys.
func columnsOfAll[R any, S row[R]](states map[string]S) []R {
	rows := make([]R, 0, len(states))
	for _, key := range keys(states) {
		rows = append(rows, states[key].columns())
	}
	return rows
}
