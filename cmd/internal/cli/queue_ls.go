package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) queueLs() *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List queues, how many jobs are in them, and pauses",
		Long: `List the queues in the order of the workflow: how many jobs are in each, waiting or
worked on, and which are paused, since when, by whom and why.`,
		Example: "  accession queue ls\n  accession queue ls -o json",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				list, err := a.Queues(ctx)
				if err != nil {
					return err
				}
				return p.show(list, func(w io.Writer) {
					lines := make([][]any, len(list))
					for i, q := range list {
						since, by, why := holdCells(q.Pause)
						lines[i] = []any{q.Name, q.Depth, holdWord(q.Pause, "paused"), since, by, why}
					}
					rows(w, "no queues", []any{"queue", "jobs", "status", "since", "by", "why"}, lines)
				})
			})
		}),
	}
}
