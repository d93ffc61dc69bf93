package rebuild

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// DiffOptions say what is compared, and how much of it is told.
type DiffOptions struct {
	Table string // one of [DiffTables], "" = all of them
	Limit int    // how many different rows are told of each table; all are counted
}

// Generation is one of the two sets of tables that are compared.
type Generation struct {
	Schema  string `json:"schema"`
	Seq     int64  `json:"seq"`   // the last event that is in its tables
	Rules   int64  `json:"rules"` // version of the rules that they were made by, 0 = not kept
	stream  string
	created time.Time
}

// Diff tells in what two generations of the tables differ that have the same
// events: those of before a rebuild, and those that it made.
type Diff struct {
	Before Generation  `json:"before"`
	After  Generation  `json:"after"`
	Tables []TableDiff `json:"tables"`
}

// Same reports whether all rows are equal.
func (d Diff) Same() bool {
	return !slices.ContainsFunc(d.Tables, func(t TableDiff) bool { return t.Different() > 0 })
}

var (
	// ErrOneGeneration says that there is nothing to compare the live tables with.
	ErrOneGeneration = errors.New("there are no other tables than the live ones: a rebuild that a difference stopped leaves the new ones, `accession rebuild --keep-old` keeps the old ones")
	// ErrNoTables says that there are no live tables.
	ErrNoTables = errors.New("there are no tables: `accession migrate` makes them")
)

// SequenceError says that two generations do not have the same events.
type SequenceError struct{ Before, After Generation }

// Error implements error.
func (e *SequenceError) Error() string {
	if e.Before.Seq > 0 && e.After.Seq > 0 && !sameLog(e.Before, e.After) {
		return fmt.Sprintf("%s and %s were made from different logs: only tables of the same events can be compared", e.Before.Schema, e.After.Schema)
	}
	text := fmt.Sprintf("%s stands at event %d and %s at event %d: only tables of the same events can be compared; while no service runs, ",
		e.Before.Schema, e.Before.Seq, e.After.Schema, e.After.Seq)
	if e.After.Schema == migrations.Next.Tables {
		return text + "`accession rebuild --resume --keep-old` brings the new ones to where the live ones are, and stops there or keeps the old ones"
	}
	return text + "`accession rebuild --drop` and then `accession rebuild --keep-old` make two that do"
}

// DiffTables names the tables that can be compared.
func DiffTables() []string { return slices.Clone(compared) }

// Compare compares the live tables with those that a rebuild made and did not swap,
// or put aside and kept, row by row, in one snapshot. No rebuild can begin
// meanwhile; all else goes on.
func Compare(ctx context.Context, pool *pgxpool.Pool, o DiffOptions) (d Diff, err error) {
	names := compared
	if o.Table != "" {
		if names = []string{o.Table}; !slices.Contains(compared, o.Table) {
			return d, fmt.Errorf("no table %q: there is only %s", o.Table, strings.Join(compared, ", "))
		}
	}
	err = alone(ctx, pool, func() error {
		return pgx.BeginTxFunc(ctx, pool, tables.Snapshot, func(tx pgx.Tx) error {
			if d.Before, d.After, err = generations(ctx, tx); err != nil {
				return err
			}
			if err := plainText(ctx, tx); err != nil {
				return err
			}
			for _, table := range names {
				t, err := diffTable(ctx, tx, d.Before.Schema, d.After.Schema, table, o.Limit)
				if err != nil {
					return fmt.Errorf("compare %s: %w", table, err)
				}
				d.Tables = append(d.Tables, t)
			}
			return nil
		})
	})
	return d, err
}

// generations finds the two, which must have the same events of the same log.
func generations(ctx context.Context, tx pgx.Tx) (before, after Generation, err error) {
	live, there, err := generation(ctx, tx, migrations.Live)
	if err != nil || !there {
		return before, after, errors.Join(err, missing(there, ErrNoTables))
	}
	before = live
	if after, there, err = generation(ctx, tx, migrations.Next); err == nil && !there {
		after = live
		before, there, err = generation(ctx, tx, migrations.Old)
	}
	switch {
	case err != nil || !there:
		return before, after, errors.Join(err, missing(there, ErrOneGeneration))
	case before.Seq != after.Seq, !sameLog(before, after):
		return before, after, &SequenceError{before, after}
	}
	return before, after, nil
}

func sameLog(a, b Generation) bool { return a.stream == b.stream && a.created.Equal(b.created) }

func missing(there bool, err error) error {
	if there {
		return nil
	}
	return err
}

// generation looks where the tables of these names stand. A rebuild gives the
// checkpoint of those that it replaces a longer name.
func generation(ctx context.Context, tx pgx.Tx, n migrations.Names) (g Generation, there bool, err error) {
	g.Schema = n.Tables
	checkpoint := pgx.Identifier{n.Tables, "checkpoint"}.Sanitize()
	if err := tx.QueryRow(ctx, "select to_regclass($1) is not null", checkpoint).Scan(&there); err != nil || !there {
		return g, false, err
	}
	err = tx.QueryRow(ctx, fmt.Sprintf(`
select c.stream, c.stream_created, c.seq, coalesce((to_jsonb(c) ->> 'meaning')::bigint, 0) from %s c
where c.name in ($1, $1 || ' until it was replaced') order by c.seq desc limit 1`, checkpoint), tables.Main).
		Scan(&g.stream, &g.created, &g.Seq, &g.Rules)
	if errors.Is(err, pgx.ErrNoRows) { // nothing was applied yet
		err = nil
	}
	return g, true, err
}
