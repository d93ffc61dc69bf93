package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

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
