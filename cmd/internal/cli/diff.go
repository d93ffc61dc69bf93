package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/tables"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/diffs"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

func (p *program) diff() *cobra.Command {
	var o tables.DiffOptions
	var format string
	c := &cobra.Command{
		Use:   "diff",
		Short: "Compare the tables before and after a rebuild",
		Long: `Compare two generations of the projected tables, row by row by primary key: the live
tables with the new ones of a rebuild that a difference stopped, or the old tables that
` + "`accession rebuild --keep-old`" + ` kept with the live ones.

Each table is shown with the number of rows that are only before, only after, or
changed, then the first of these rows with both values of each changed column; JSON has
the complete values. Both generations must be at the same event: that holds until the
service continues with one of them. Nothing is written, and no rebuild can begin
meanwhile; everything else continues.

Exit code 0: the rows are equal; 21: they differ; 22: they could not be compared.`,
		Example: "  accession diff\n  accession diff --table job --limit 500\n  accession diff --format csv > changes.csv",
		Args:    cobra.NoArgs,
		RunE: p.using(func(ctx context.Context, a *app.App, _ []string) error {
			d, err := tables.Compare(ctx, a, o)
			if err != nil {
				return p.unchecked(ctx, err)
			}
			p.output = cmp.Or(format, p.output)
			if err := p.showDiff(d); err != nil {
				return err
			}
			return exit.If(!d.Same(), exit.Person)
		}),
	}
	flags.Parsed(c, &o.Table, "table", "", "compare this `TABLE` only: "+strings.Join(tables.DiffTables(), ", "), flags.Optional(flags.Among(tables.DiffTables()...)))
	flags.Parsed(c, &format, "format", "", "`FORMAT`: table, json or csv (default: as -o says)", flags.Optional(flags.Among("table", "json", export.FormatCSV)))
	flags.Limit(c, &o.Limit, 20, "rows of each table")
	return c
}

// showDiff is show, which also writes CSV.
func (p *program) showDiff(d tables.Diff) error {
	if p.output == export.FormatCSV {
		diffs.Truncated(p.Err, d)
		return diffs.WriteCSV(p.Out, d)
	}
	return show(p, d, diffs.Write)
}
