package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/watch"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
)

func (p *program) queueFree() *cobra.Command {
	return verbs(p, "BATCH", "batch id", domain.ParseBatchID, verb[domain.BatchID]{
		name: "free", reason: true,
		short: "Free the places of running batches in their deposit queue",
		long: `Batches count as running in a deposit queue until they are held or reported. Free their
places, so that other deposits of their users are grabbed; they go on outside the queue.
The places of batches whose open jobs are all held or wait for space are freed by the
janitor.`,
		example: "  accession queue free bid0000000042 --reason \"waits for the depositor\"\n  accession queue free bid0000000042 --reason \"stuck\" --dry-run",
		as: func(id domain.BatchID, change operation.Change) request {
			return request{"queue.free", batchChange(id, change)}
		},
	})[0]
}

func (p *program) queueBoard() *cobra.Command {
	watched := false
	c := &cobra.Command{
		Use:   "board [QUEUE]",
		Short: "Show who waits in a deposit queue, and who is served when",
		Long: `Show the users of a deposit queue (metadata, when none is named): how many deposits wait,
run and are parked, in the order in which the users are visited, how many deposits of
others are grabbed before the next one of theirs, and about when that is, by the grabs of
the last hour. Of who is not served it says why. Batches whose jobs all rest are named.

Without PostgreSQL the expected times, parked deposits and resting batches are unknown.`,
		Example: "  accession queue board\n  accession queue board metadata --watch\n  accession queue board -o json | jq '.users[] | select(.obstacle)'",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			if len(args) > 1 || args[0] == queues.All {
				return fmt.Errorf("a board is of one queue: choose metadata or query")
			}
			_, err := queues.Named(args[0])
			return err
		},
		RunE: p.over(func(ctx context.Context, d door.Door, args []string) error {
			queue := fair.QueueMetadata
			if len(args) == 1 {
				queue = args[0]
			}
			look := func() (queues.Board, error) {
				return door.Carry[queues.Board](ctx, d, "queue.board", &operation.QueueName{Name: queue})
			}
			if watched {
				return watch.Repeat(ctx, watch.Screen{Out: p.Out, Terminal: p.Terminal, JSON: p.output == "json"}, "board", look, views.Board)
			}
			b, err := look()
			if err != nil {
				return err
			}
			return show(p, b, views.Board)
		}),
	}
	c.Flags().BoolVarP(&watched, "watch", "w", false, "show it again and again until interrupted")
	return c
}
