package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) fileSkip() *cobra.Command {
	return p.operating(verb{
		use:   "skip HASH...",
		short: "Leave downloaded files out",
		long: `Leave files out that are DOWNLOADED: they will not be processed, and the report of
their batch names them. --reason is required; who did it and why stay in their history.
` + "`accession file requeue`" + ` takes them up again.`,
		example: "  accession file skip " + sampleHash + " --reason thumbnail --dry-run\n  accession file skip " + sampleHash + " --reason thumbnail",
		noun:    "file", check: checkFile, wants: true,
		do: func(ctx context.Context, a *app.App, hash, why string) (app.Changed, error) {
			return a.SkipFile(ctx, domain.FileHash(hash), why)
		},
	})
}
