package cli

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/tables"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
)

func (p *program) rebuild() *cobra.Command {
	var o tables.RebuildOptions
	var drop bool
	c := &cobra.Command{
		Use:   "rebuild",
		Short: "Rebuild the tables from the log, next to the live ones",
		Long: `Rebuild all tables and views that are projections of the log (schemas accession and
report; the schema record is not touched). The live tables and the service stay in use
meanwhile. Old and new tables are compared at one event, then swapped in one
transaction.

A difference stops the rebuild before the swap, unless the program has a newer
projection version than the live tables, or events were held (accession poison): then
the difference is only reported. An event that cannot be applied stops it too. When it
stops before the swap, the live tables are unchanged; --resume continues, --drop removes
the new tables.

Views, tables and other objects that were built on the live tables and views, or added
to their schemas, are listed and stop the rebuild before it begins, unless
--drop-dependents allows them to be dropped.`,
		Example: "  accession rebuild\n  accession rebuild --resume\n  accession rebuild --drop",
		Args:    cobra.NoArgs,
		RunE: p.using(func(ctx context.Context, a *app.App, _ []string) error {
			if drop {
				return door.Noted(ctx, a, p.Err, "rebuild.drop", "tables", false, tables.DropRebuild(ctx, a, o.DropDependents))
			}
			begun := time.Now()
			done, err := steps(ctx, p, render.StepLines(p.Err), func(report func(render.Step)) (tables.Rebuilt, error) {
				o.Progress = func(now tables.RebuildProgress) { report(views.RebuildStep(now)) }
				return tables.Rebuild(ctx, a, o)
			})
			if door.Noted(ctx, a, p.Err, "rebuild", "tables", false, err) != nil {
				return err
			}
			return show(p, done, func(w io.Writer, done tables.Rebuilt) { views.Rebuilt(w, done, time.Since(begun)) })
		}),
	}
	f := c.Flags()
	f.BoolVar(&o.Resume, "resume", false, "continue a rebuild that was interrupted")
	f.BoolVar(&drop, "drop", false, "drop the tables of an interrupted rebuild, and old tables that were kept")
	f.BoolVar(&o.KeepOld, "keep-old", false, "keep the old tables, in schemas accession_old and report_old")
	f.BoolVar(&o.DropDependents, "drop-dependents", false, "also drop objects built on the old tables and views")
	f.BoolVar(&o.Accept, "accept", false, "swap even if the new tables differ for no known reason")
	for _, other := range []string{"resume", "keep-old", "accept"} {
		c.MarkFlagsMutuallyExclusive("drop", other)
	}
	return c
}
