package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

func (p *program) eventsLs() *cobra.Command {
	var s app.Selection
	var limit int
	c := &cobra.Command{
		Use:   "ls",
		Short: "List events by time, place, batch, job, file, type or actor",
		Long: `List events in the order of the log. With -o json each event is one line. For all of
them, as CSV or Parquet, to a file or a subject, see accession replay.`,
		Example: "  accession events ls --job jid0000000001\n  accession events ls --type job.failed,file.ignored --since 24h\n  accession events ls --actor user/* --since 7d -o json",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error { return p.listEvents(ctx, a, s, limit) })
		}),
	}
	choose(c, &s)
	limitFlag(c, &limit, listLimit, "at most so many")
	return c
}

func (p *program) listEvents(ctx context.Context, a *app.App, s app.Selection, limit int) error {
	sel, err := a.Select(ctx, s)
	if err != nil {
		return err
	}
	lines, n := export.NewJSONLines(p.Out), 0
	for e, err := range sel.Events(ctx, nil) {
		switch {
		case err != nil:
			return err
		case n == limit && p.output == "table":
			fmt.Fprintf(p.Out, "\nthe first %d; --limit for more, or --from %d for the next\n", n, e.Seq)
			return nil
		case n == limit:
			return nil
		}
		n++
		if err := p.showEvent(lines, e); err != nil {
			return err
		}
	}
	if n == 0 && p.output == "table" && ctx.Err() == nil {
		fmt.Fprintln(p.Out, "no events")
	}
	return ctx.Err()
}
