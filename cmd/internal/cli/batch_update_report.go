package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) batchUpdateReport() *cobra.Command {
	return p.operating(verb{
		use:   "update-report BATCH...",
		short: "Report failed batches once more, after their jobs were mended",
		long: `Ask for a further report of failed batches: which jobs succeeded since the report
before, and which are unresolved. It is refused while a job of the batch is at work.
The batch ends completed when nothing failed is left in it, else failed again.`,
		example: "  accession batch update-report bid0000000001 --reason \"the source answers again\"",
		noun:    "batch", check: checkBatch,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.RequestUpdate(ctx, domain.BatchID(id), why)
		},
	})
}
