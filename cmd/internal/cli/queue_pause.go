package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

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
