package projections

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/migrations"
)

// row is a state that has a row.
type row[R any] interface {
	columns() R
	state() *kept
}

// write puts the outcome into the tables.
func (f *fold) write(ctx context.Context, tx pgx.Tx, names migrations.Names) error {
	q, at := queriesIn(tx, names), func(table string) string { return names.Tables + "." + table }
	for _, step := range []func() error{
		func() error { return copyRows(ctx, tx, at("event"), f.events) },
		func() error { return keep(ctx, tx, at("batch"), q.UpsertBatches, f.batches) },
		func() error { return keep(ctx, tx, at("job"), q.UpsertJobs, f.jobs) },
		func() error { return copyRows(ctx, tx, at("job_transition"), f.transitions) },
		func() error { return keep(ctx, tx, at("file"), q.UpsertFiles, f.files) },
		func() error { return copyRows(ctx, tx, at("file_transition"), f.fileTransitions) },
		func() error { return keep(ctx, tx, at("file_count"), q.UpsertFileCounts, f.counts) },
		func() error { return copyRows(ctx, tx, at("retry"), f.retries.rows(true)) },
		func() error { return put(ctx, "retry", q.ResolveRetries, f.retries.rows(false)) },
		func() error { return copyRows(ctx, tx, at("batch_report"), f.reports) },
		func() error { return keep(ctx, tx, at("setting"), q.UpsertSettings, f.settings) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// written makes the fold ready for the next events, after a commit.
func (f *fold) written() {
	f.events, f.transitions, f.fileTransitions, f.reports = f.events[:0], f.transitions[:0], f.fileTransitions[:0], f.reports[:0]
	f.retries = retries{byKey: map[attemptKey]*retryRow{}}
	settled(f.batches)
	settled(f.jobs)
	settled(f.files)
	settled(f.counts)
	settled(f.settings)
}

func settled[S interface{ state() *kept }](states map[string]S) {
	for _, s := range states {
		if k := s.state(); k.dirty {
			*k = kept{stored: true}
		}
	}
}

// keep writes the states that have changed, in the order of their keys: new ones
// are added, others updated.
func keep[R any, S row[R]](ctx context.Context, tx pgx.Tx, table string, update func(context.Context, []byte) error, states map[string]S) error {
	var fresh, changed []R
	for _, key := range keys(states) {
		switch s := states[key]; {
		case !s.state().dirty:
		case s.state().stored:
			changed = append(changed, s.columns())
		default:
			fresh = append(fresh, s.columns())
		}
	}
	if err := copyRows(ctx, tx, table, fresh); err != nil {
		return err
	}
	return put(ctx, table, update, changed)
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
