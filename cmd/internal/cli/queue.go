package cli

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/simulation"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

func (p *program) queue() *cobra.Command {
	changes := verbs(p, "QUEUE", "queue", anyName, of("queue", queueChange,
		verb[string]{
			name:  "pause",
			short: "Pause a queue: no new claims, running work finishes",
			long: `Pause queues: pending, estimating, provisioning, downloading, processing, recording,
notify, or ingest for all work. Once the command has answered, nothing is claimed
there; running work finishes.`,
			example: "  accession queue pause ingest --reason \"upgrade\"\n  accession queue pause downloading --reason \"the network is down\"",
		},
		verb[string]{
			name:  "resume",
			ids:   resumed,
			short: "Resume a paused queue, or a suspended deposit queue",
			long: `End the pause of queues: workers claim from them again. With metadata, query or all: end
the suspension of deposit queues, which needs a reason.`,
			example: "  accession queue resume ingest\n  accession queue resume metadata --reason \"the store answers again\"",
		})...)
	return group(&cobra.Command{
		Use:   "queue",
		Short: "List and pause queues, and set the deposit queues",
		Long: `A queue holds the jobs in one state. While it is paused, nothing is claimed from it;
running work finishes, and deposits are accepted. The queue ingest stands for all
queues and for the batches.

Before them are two deposit queues, metadata and query, which serve many users in turn.
They are suspended, and their limits are set, while the service runs.`,
		Example: "  accession queue ls\n  accession queue pause downloading --reason \"the network is down\"\n  accession queue show metadata",
	}, slices.Concat(changes, p.depositQueue(), []*cobra.Command{p.queueLs(), simulation.Command(simulation.Env{Run: p.run, Show: p.showAs})})...)
}

// resumed returns the queues that arguments name; all stands for the deposit queues.
func resumed(args []string) (names []string) {
	for _, arg := range args {
		list, err := queues.Named(arg)
		if err != nil {
			list = []string{arg}
		}
		names = append(names, list...)
	}
	return names
}

func (p *program) queueLs() *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List queues, their jobs and pauses",
		Long: `List the queues in the order of the workflow: how many jobs are in each, waiting or
locked by a worker, and which are paused, since when, by whom and why.`,
		Example: "  accession queue ls\n  accession queue ls -o json",
		Args:    cobra.NoArgs,
		RunE: served(p, func([]string) request { return request{"queue.ls", &operation.None{}} }, func(w io.Writer, list app.Page[app.Queue]) {
			render.Rows(w, "no queues", render.Row{"queue", "jobs", "status", "since", "by", "why"}, list.Items, func(q app.Queue) render.Row {
				return append(render.Row{q.Name, q.Depth, views.HoldStatus(q.Pause, "paused")}, views.HoldCells(q.Pause)...)
			})
		}),
	}
}

// queueChange is what is asked for to change a queue.
func queueChange(name string, change operation.Change) any {
	return &operation.QueueChange{QueueName: operation.QueueName{Name: name}, Match: operation.Match{Change: change}}
}
