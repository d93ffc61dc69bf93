package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app/status"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/watch"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

func (p *program) status() *cobra.Command {
	var watched bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show servers, workers, queues, lag, and what stands still",
		Long: `Show which servers answer, which processes serve, how many batches are in each state and
how many jobs in each queue, which servers of depositors are used by how many steps of
those that may (host_permits), the submitters for whom as many work as may
(submitter_permits), how many events wait in the outbox and for how long, and how far
the tables are behind the log. Then what has waited longest in each state, and what
stands still, with a command that moves it on: pauses, holds, states that no
process serves, what cannot be read, overdue attempts at files, events that the tables
lack, and what the last audit found.

Exit code 5 when a server does not answer, 8 when one has lost its data or its restore
has not ended; what stands still does not change it. With --watch the status is shown
again every 2 seconds until the command is interrupted: in place on a terminal, else
one after the other, with -o json one line each.`,
		Example: "  accession status\n  accession status --watch\n  accession status -o json | jq .standing",
		Args:    cobra.NoArgs,
	}
	c.RunE = p.over(func(ctx context.Context, d door.Door, _ []string) error {
		look := func() (status.Status, error) {
			return door.Carry[status.Status](ctx, d, "status.show", &operation.None{})
		}
		if watched {
			return watch.Repeat(ctx, watch.Screen{Out: p.Out, Terminal: p.Terminal, JSON: p.output == "json"}, "status", look, views.Status)
		}
		s, err := look()
		if err != nil {
			return err
		}
		if err := show(p, s, views.Status); err != nil {
			return err
		}
		if s.Lost() {
			return exit.Error(exit.Lost)
		}
		return exit.If(!s.OK(), exit.Unavailable)
	})
	c.Flags().BoolVar(&watched, "watch", false, "show it again and again, until interrupted")
	return c
}
