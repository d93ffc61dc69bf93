package rebuild

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// TableDiff tells in what a table differs. Columns that only one generation has are
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

// shapeOf gives the columns of a table in the order of their names, and its primary
// key. A table that is not there has neither.
func shapeOf(ctx context.Context, tx pgx.Tx, name string) (columns, key []string, err error) {
	err = tx.QueryRow(ctx, `
select coalesce((select array_agg(attname::text order by attname::text) from pg_attribute where attrelid = t.id and attnum > 0 and not attisdropped), '{}'),
       coalesce((select array_agg(a.attname::text order by array_position(i.indkey::int2[], a.attnum)) from pg_index i
        join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey) where i.indrelid = t.id and i.indisprimary), '{}')
from (select to_regclass($1) as id) t`, name).Scan(&columns, &key)
	return columns, key, err
}
