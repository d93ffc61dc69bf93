package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) fileRequeue() *cobra.Command {
	return p.operating(verb{
		use:   "requeue HASH...",
		short: "Take files up again that were given up or left out",
		long: `Take files up again. One that is IGNORE becomes DISCOVERED, one that is ABANDONED
becomes READY, one that is SKIPPED becomes DOWNLOADED; its attempts count from 0. Who
did it and why stay in its history. A failed job takes its own files up again when it
is requeued itself.`,
		example: "  accession file requeue " + sampleHash + " --dry-run\n  accession file requeue " + sampleHash + " --reason outage-over",
		noun:    "file", check: checkFile,
		do: func(ctx context.Context, a *app.App, hash, why string) (app.Changed, error) {
			return a.RequeueFile(ctx, domain.FileHash(hash), why)
		},
	})
}
