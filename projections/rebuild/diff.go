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

// DiffOptions say what is compared, and how much is listed.
type DiffOptions struct {
	Table string // one of [DiffTables], "" = all of them
	Limit int    // how many different rows are listed of each table; all are counted
}

// Generation is one of the two sets of tables that are compared.
type Generation struct {
	Schema  string `json:"schema"`
	Seq     int64  `json:"seq"`   // the last event that is in its tables
	Rules   int64  `json:"rules"` // version of the rules that they were made by, 0 = not kept
	stream  string
	created time.Time
}

// Diff lists how two generations of the tables with the same events differ: those that
// a rebuild replaced or would replace, and those that it made.
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
	// ErrOneGeneration reports that there is nothing to compare the live tables with.
	ErrOneGeneration = errors.New("there are no other tables than the live ones: a rebuild that a difference stopped leaves the new ones, `accession rebuild --keep-old` keeps the old ones")
	// ErrNoTables reports that there are no live tables.
	ErrNoTables = errors.New("there are no tables: `accession migrate` makes them")
)

// SequenceError reports that two generations do not have the same events.
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

// Compare compares the live tables with those that a rebuild made and did not swap, or
// that it replaced and kept, row by row, in one snapshot. No rebuild can begin
// meanwhile.
func Compare(ctx context.Context, pool *pgxpool.Pool, o DiffOptions) (d Diff, err error) {
	names := compared
	if o.Table != "" {
		if names = []string{o.Table}; !slices.Contains(compared, o.Table) {
			return d, fmt.Errorf("no table %q: there is only %s", o.Table, strings.Join(compared, ", "))
		}
	}
	err = withLock(ctx, pool, func() error {
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

// generation returns the checkpoint of the tables with these names. A rebuild renames
// the checkpoint of those that it replaces.
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

// TableDiff is how a table differs. Columns that only one generation has are
// named and not compared.
type TableDiff struct {
	Table         string    `json:"table"`
	Key           []string  `json:"key"` // columns of the primary key
	RowsBefore    int64     `json:"rows_before"`
	RowsAfter     int64     `json:"rows_after"`
	OnlyBefore    int64     `json:"only_before"`
	OnlyAfter     int64     `json:"only_after"`
	Changed       int64     `json:"changed"`
	ColumnsBefore []string  `json:"columns_only_before,omitempty"`
	ColumnsAfter  []string  `json:"columns_only_after,omitempty"`
	Rows          []RowDiff `json:"rows"` // the first of them, by key
}

// Different is the number of rows that differ.
func (t TableDiff) Different() int64 { return t.OnlyBefore + t.OnlyAfter + t.Changed }

// How a row differs.
const (
	OnlyBefore = "only_before"
	OnlyAfter  = "only_after"
	Changed    = "changed"
)

// RowDiff is a row that differs.
type RowDiff struct {
	Key     []string     `json:"key"`
	Change  string       `json:"change"`
	Columns []ColumnDiff `json:"columns,omitempty"` // of a changed row
}

// ColumnDiff is a value of a changed row in both generations, as text; nil = NULL.
type ColumnDiff struct {
	Column string  `json:"column"`
	Before *string `json:"before"`
	After  *string `json:"after"`
}

// diffTable compares one table. PostgreSQL joins both by their keys and spills to
// its disk what does not fit into its memory; here come only the first rows that
// differ.
func diffTable(ctx context.Context, tx pgx.Tx, before, after, table string, limit int) (t TableDiff, err error) {
	t = TableDiff{Table: table, Rows: []RowDiff{}}
	columns := map[string][]string{}
	for _, schema := range []string{before, after} {
		name := pgx.Identifier{schema, table}.Sanitize()
		var key []string
		if columns[schema], key, err = shapeOf(ctx, tx, name); err != nil {
			return t, err
		}
		switch {
		case len(key) == 0:
			return t, fmt.Errorf("there is no %s: another version of the program made that generation; compare other tables with --table", name)
		case t.Key != nil && !slices.Equal(t.Key, key):
			return t, fmt.Errorf("its primary key was (%s) and is (%s): another version of the program made that generation; compare other tables with --table",
				strings.Join(t.Key, ", "), strings.Join(key, ", "))
		}
		t.Key = key
	}
	without := func(all, others []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(c string) bool { return slices.Contains(others, c) })
	}
	t.ColumnsBefore, t.ColumnsAfter = without(columns[before], columns[after]), without(columns[after], columns[before])
	both := without(columns[before], t.ColumnsBefore)

	j := joined(before, after, table, t.Key, both)
	err = tx.QueryRow(ctx, fmt.Sprintf(`select count(a.%[1]s), count(b.%[1]s), count(*) filter (where b.%[1]s is null),
count(*) filter (where a.%[1]s is null), count(*) filter (where %[2]s) from %[3]s`, j.first, j.changed, j.tables)).
		Scan(&t.RowsBefore, &t.RowsAfter, &t.OnlyBefore, &t.OnlyAfter, &t.Changed)
	if err != nil || t.Different() == 0 {
		return t, err
	}
	rows, err := tx.Query(ctx, fmt.Sprintf(`select a.%[1]s is null, b.%[1]s is null, array[%[2]s], array[%[3]s], array[%[4]s] from %[5]s
where a.%[1]s is null or b.%[1]s is null or %[6]s order by %[7]s limit $1`,
		j.first, j.key, j.before, j.after, j.tables, j.changed, j.order), limit)
	if err != nil {
		return t, err
	}
	var row RowDiff
	var added, removed bool
	var was, is []*string
	_, err = pgx.ForEachRow(rows, []any{&added, &removed, &row.Key, &was, &is}, func() error {
		r := RowDiff{Key: slices.Clone(row.Key), Change: Changed}
		switch {
		case added:
			r.Change = OnlyAfter
		case removed:
			r.Change = OnlyBefore
		default:
			r.Columns = columnDiffs(both, was, is)
		}
		t.Rows = append(t.Rows, r)
		return nil
	})
	return t, err
}

func columnDiffs(columns []string, was, is []*string) (differ []ColumnDiff) {
	for i, c := range columns {
		if was[i] != is[i] && (was[i] == nil || is[i] == nil || *was[i] != *is[i]) {
			differ = append(differ, ColumnDiff{c, was[i], is[i]})
		}
	}
	return differ
}

// join is the parts of a statement that joins a table of two generations.
type join struct {
	tables, changed string
	first           string // column of the key: NULL where there is no row
	key, order      string // of the row, from where it is
	before, after   string // the compared columns as text
}

func joined(before, after, table string, key, columns []string) (j join) {
	list := func(names []string, format string) string {
		parts := make([]string, len(names))
		for i, n := range names {
			parts[i] = strings.ReplaceAll(format, "?", pgx.Identifier{n}.Sanitize())
		}
		return strings.Join(parts, ", ")
	}
	j.first = pgx.Identifier{key[0]}.Sanitize()
	j.tables = fmt.Sprintf("%s a full join %s b using (%s)", pgx.Identifier{before, table}.Sanitize(), pgx.Identifier{after, table}.Sanitize(), list(key, "?"))
	// As in the digests, so that NULL and an empty text are two things.
	j.changed = fmt.Sprintf("a.%[1]s is not null and b.%[1]s is not null and row(%[2]s)::text <> row(%[3]s)::text", j.first, list(columns, "a.?"), list(columns, "b.?"))
	j.key, j.order = list(key, "coalesce(a.?, b.?)::text"), list(key, "coalesce(a.?, b.?)")
	j.before, j.after = list(columns, "a.?::text"), list(columns, "b.?::text")
	return j
}

// shapeOf returns the columns of a table in the order of their names, and its primary
// key. A table that is not there has neither.
func shapeOf(ctx context.Context, tx pgx.Tx, name string) (columns, key []string, err error) {
	err = tx.QueryRow(ctx, `
select coalesce((select array_agg(attname::text order by attname::text) from pg_attribute where attrelid = t.id and attnum > 0 and not attisdropped), '{}'),
       coalesce((select array_agg(a.attname::text order by array_position(i.indkey::int2[], a.attnum)) from pg_index i
        join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey) where i.indrelid = t.id and i.indisprimary), '{}')
from (select to_regclass($1) as id) t`, name).Scan(&columns, &key)
	return columns, key, err
}
