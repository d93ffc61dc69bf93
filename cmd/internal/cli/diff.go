package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

func (p *program) diff() *cobra.Command {
	var o app.DiffOptions
	var format string
	c := &cobra.Command{
		Use:   "diff",
		Short: "Compare the tables of before a rebuild with those that it made",
		Long: `Compare two generations of the tables that were made of the same events, row by row
by primary key: the live ones with the new ones that a rebuild left when a difference
stopped it, or the old ones that ` + "`accession rebuild --keep-old`" + ` kept with the live ones.

Each table is told with the number of rows that are only before, only after, or
changed, then the first of these rows with each column that changed and both values;
JSON has the whole values. Both must stand at the same event: that is so as long as
no service has gone on with one of them. Nothing is written, and no rebuild can begin
meanwhile; all else goes on.

Exit code 0: the rows are equal; 21: they differ; 22: they could not be compared.`,
		Example: "  accession diff\n  accession diff --table job --limit 500\n  accession diff --format csv > changes.csv",
		Args:    cobra.NoArgs,
		PreRunE: func(c *cobra.Command, _ []string) error {
			if format == "" {
				format = p.output
			}
			if err := oneOf(c.CommandPath(), "--format", format, []string{"table", "json", export.FormatCSV}); err != nil {
				return err
			}
			return oneOf(c.CommandPath(), "--table", o.Table, app.DiffTables())
		},
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				d, err := a.Diff(ctx, o)
				if err != nil {
					return p.unchecked(ctx, err)
				}
				if err := p.showDiff(d, format); err != nil {
					return err
				}
				if !d.Same() {
					return exitError(exitPerson)
				}
				return nil
			})
		}),
	}
	c.Flags().StringVar(&o.Table, "table", "", "compare this `TABLE` only: "+strings.Join(app.DiffTables(), ", "))
	c.Flags().StringVar(&format, "format", "", "`FORMAT`: table, json or csv (default: as -o says)")
	limitFlag(c, &o.Limit, 20, "show at most so many rows of each table")
	return c
}

func (p *program) showDiff(d app.Diff, format string) error {
	switch format {
	case export.FormatCSV:
		cutDiffs(p.Err, d)
		return diffCSV(p.Out, d)
	case "json":
		p.output = format
	}
	return p.show(d, func(w io.Writer) { diffTable(w, d) })
}

func diffTable(w io.Writer, d app.Diff) {
	fmt.Fprintf(w, "before: %s, rules of version %d; after: %s, rules of version %d; both at event %d\n\n",
		d.Before.Schema, d.Before.Rules, d.After.Schema, d.After.Rules, d.After.Seq)
	sums := make([][]any, len(d.Tables))
	var lines [][]any
	for i, t := range d.Tables {
		verdict := "equal"
		if t.Different() > 0 {
			verdict = "DIFFERENT"
		}
		sums[i] = []any{t.Table, t.RowsBefore, t.RowsAfter, t.OnlyBefore, t.OnlyAfter, t.Changed, verdict}
		for _, r := range t.Rows {
			key := brief(strings.Join(r.Key, " "))
			change := strings.ReplaceAll(r.Change, "_", " ")
			if len(r.Columns) == 0 {
				lines = append(lines, []any{t.Table, key, change, "", "", ""})
			}
			for _, c := range r.Columns {
				was, is := beside(c.Before, c.After)
				lines = append(lines, []any{t.Table, key, change, c.Column, was, is})
			}
		}
	}
	rows(w, "", []any{"table", "rows before", "rows after", "only before", "only after", "changed", ""}, sums)
	for _, t := range d.Tables {
		notCompared(w, t.Table, "before", t.ColumnsBefore)
		notCompared(w, t.Table, "after", t.ColumnsAfter)
	}
	if len(lines) > 0 {
		fmt.Fprintln(w)
		rows(w, "", []any{"table", "key", "row", "column", "before", "after"}, lines)
	}
	cutDiffs(w, d)
}

func notCompared(w io.Writer, table, side string, columns []string) {
	if len(columns) > 0 {
		fmt.Fprintf(w, "%s has these columns only %s, they were not compared: %s\n", table, side, strings.Join(columns, ", "))
	}
}

// cutDiffs tells of which tables not all rows are shown.
func cutDiffs(w io.Writer, d app.Diff) {
	for _, t := range d.Tables {
		if shown := len(t.Rows); int64(shown) < t.Different() {
			cut(w, shown, t.Different(), "different rows of "+t.Table, "--limit")
		}
	}
}

// diffCSV writes a line for each value that changed, and one for each row that is
// in one generation only.
func diffCSV(w io.Writer, d app.Diff) error {
	out, err := export.NewCSV(w, "table", "key", "row", "column", "before", "after")
	if err != nil {
		return err
	}
	for _, t := range d.Tables {
		for _, r := range t.Rows {
			key := strings.Join(r.Key, " ")
			if len(r.Columns) == 0 {
				if err := out.Row(t.Table, key, r.Change, nil, nil, nil); err != nil {
					return err
				}
			}
			for _, c := range r.Columns {
				if err := out.Row(t.Table, key, r.Change, c.Column, orNull(c.Before), orNull(c.After)); err != nil {
					return err
				}
			}
		}
	}
	return out.Close()
}

// null is what a table shows where the database has no value. Texts stand in
// quotes in tables for people, so that it is not mistaken for one.
const null = "NULL"

func orNull(s *string) string {
	if s == nil {
		return null
	}
	return *s
}

// leadIn is how much a long value shows of what both have before they differ.
const leadIn = 15

// beside shows two values that differ: in quotes, what a terminal would obey
// written as escapes, and of long ones the part in which they begin to differ.
func beside(before, after *string) (was, is string) {
	from := 0
	if before != nil && after != nil {
		a, b := []rune(*before), []rune(*after)
		for from < min(len(a), len(b)) && a[from] == b[from] {
			from++
		}
		from = max(from-leadIn, 0)
		if max(len(a), len(b)) <= briefWidth {
			from = 0
		}
	}
	return partOf(before, from), partOf(after, from)
}

func partOf(s *string, from int) string {
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
