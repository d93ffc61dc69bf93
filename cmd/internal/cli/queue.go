package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) queue() *cobra.Command {
	c := &cobra.Command{
		Use:   "queue",
		Short: "Pause queues, resume them",
		Long: `A queue is the jobs in one state. While it is paused nothing more is begun there;
what is under way ends, and deposits are taken in. The queue ingest stands for all of
them, and for the batches.`,
		Example: "  accession queue ls\n  accession queue pause downloading --reason \"the network is down\"",
	}
	c.AddCommand(p.queueLs(), p.queuePause(), p.queueResume())
	return c
}

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

func (p *program) queuePause() *cobra.Command {
	return p.operating(verb{
		use:   "pause QUEUE...",
		short: "Let nothing more begin in a queue",
		long: `Let nothing more begin in a queue: pending, estimating, provisioning, downloading,
processing, recording, notify, or ingest for all work. From the moment of the answer
on no work is claimed there. What is under way ends.`,
		example: "  accession queue pause ingest --reason \"upgrade\"\n  accession queue pause downloading --reason \"the network is down\"",
		noun:    "queue", check: anyName,
		do: func(ctx context.Context, a *app.App, name, why string) (app.Changed, error) {
			return a.PauseQueue(ctx, name, why)
		},
	})
}

func (p *program) queueResume() *cobra.Command {
	return p.operating(verb{
		use:     "resume QUEUE...",
		short:   "End the pause of a queue",
		long:    "End the pause of a queue. Work goes on by itself.",
		example: "  accession queue resume ingest",
		noun:    "queue", check: anyName,
		do: func(ctx context.Context, a *app.App, name, why string) (app.Changed, error) {
			return a.ResumeQueue(ctx, name, why)
		},
	})
}
