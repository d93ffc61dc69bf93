// Package diffs writes the differences between two generations of the tables.
package diffs

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app/tables"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

// difference is a changed value, or a row that is in one generation only.
type difference struct {
	table, key, change, column string
	before, after              *string
}

func differences(d tables.Diff) (all []difference) {
	for _, t := range d.Tables {
		for _, r := range t.Rows {
			key := strings.Join(r.Key, " ")
			if len(r.Columns) == 0 {
				all = append(all, difference{table: t.Table, key: key, change: r.Change})
			}
			for _, c := range r.Columns {
				all = append(all, difference{t.Table, key, r.Change, c.Column, c.Before, c.After})
			}
		}
	}
	return all
}

// Write writes the differences as tables.
func Write(w io.Writer, d tables.Diff) {
	fmt.Fprintf(w, "before: %s, projection version %d; after: %s, projection version %d; both at event %d\n\n",
		d.Before.Schema, d.Before.Rules, d.After.Schema, d.After.Rules, d.After.Seq)
	render.Rows(w, "", render.Row{"table", "rows before", "rows after", "only before", "only after", "changed", ""}, d.Tables, func(t tables.TableDiff) render.Row {
		return render.Row{t.Table, t.RowsBefore, t.RowsAfter, t.OnlyBefore, t.OnlyAfter, t.Changed, Equality(t.Different() == 0)}
	})
	for _, t := range d.Tables {
		for side, columns := range map[string][]string{"before": t.ColumnsBefore, "after": t.ColumnsAfter} {
			if len(columns) > 0 {
				fmt.Fprintf(w, "%s has these columns only %s; they were not compared: %s\n", t.Table, side, strings.Join(columns, ", "))
			}
		}
	}
	if all := differences(d); len(all) > 0 {
		fmt.Fprintln(w)
		render.Rows(w, "", render.Row{"table", "key", "row", "column", "before", "after"}, all, func(c difference) render.Row {
			before, after := "", ""
			if c.column != "" {
				before, after = excerpts(c.before, c.after)
			}
			return render.Row{c.table, Brief(c.key), strings.ReplaceAll(c.change, "_", " "), c.column, before, after}
		})
	}
	Truncated(w, d)
}

// Truncated reports the tables of which not all rows are shown.
func Truncated(w io.Writer, d tables.Diff) {
	for _, t := range d.Tables {
		render.Truncated(w, len(t.Rows), t.Different(), "different rows of "+t.Table, "--limit")
	}
}

// WriteCSV writes the differences as CSV.
func WriteCSV(w io.Writer, d tables.Diff) error {
	out, err := export.NewCSV(w, "table", "key", "row", "column", "before", "after")
	if err != nil {
		return err
	}
	for _, c := range differences(d) {
		row := []any{c.table, c.key, c.change, nil, nil, nil}
		if c.column != "" {
			row = append(row[:3], c.column, render.Or(c.before, null), render.Or(c.after, null))
		}
		if err := out.Row(row...); err != nil {
			return err
		}
	}
	return out.Close()
}

// null is shown where the database has no value. In tables for people, texts are in
// quotes, so that none is mistaken for it.
const null = "NULL"

// briefWidth is how much of a value a row shows; -o json has all of it.
const briefWidth = 60

// Brief returns the beginning of a value.
func Brief(s string) string {
	if text := []rune(export.Line(s)); len(text) > briefWidth {
		return string(text[:briefWidth-1]) + "…"
	}
	return export.Line(s)
}

// leadIn is how much of what two long values have in common is shown before the
// difference.
const leadIn = 15

// excerpts returns two different values as Go quotes them; of long ones the part
// where the difference begins.
func excerpts(before, after *string) (was, is string) {
	a, b := []rune(render.Deref(before)), []rune(render.Deref(after))
	from := 0
	if before != nil && after != nil && max(len(a), len(b)) > briefWidth {
		for from < min(len(a), len(b)) && a[from] == b[from] {
			from++
		}
		from = max(from-leadIn, 0)
	}
	return excerpt(before, from), excerpt(after, from)
}

func excerpt(s *string, from int) string {
	if s == nil {
		return null
	}
	text, begin, end := []rune(*s), "", ""
	if from > 0 {
		begin = "…"
	}
	text = text[min(from, len(text)):]
	if len(text) > briefWidth {
		text, end = text[:briefWidth], "…"
	}
	return begin + strconv.Quote(string(text)) + end
}

// Equality says whether two things are equal.
func Equality(equal bool) string {
	if equal {
		return "equal"
	}
	return "DIFFERENT"
}
