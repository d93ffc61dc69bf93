package cli

import "github.com/spf13/cobra"

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
