package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) batchCleanup() *cobra.Command {
	return p.operating(verb{
		use:   "cleanup BATCH...",
		short: "Take completed batches out of the live state",
		long: `Take completed batches and their jobs out of the live state, before the janitor does
it after the retention time. Objects, history and reports stay.`,
		example: "  accession batch cleanup bid0000000001 --reason \"space is short\" --yes",
		noun:    "batch", check: checkBatch, final: true,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.CleanBatch(ctx, domain.BatchID(id), why)
		},
	})
}
