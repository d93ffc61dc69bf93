package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) batchDelete() *cobra.Command {
	return p.operating(verb{
		use:   "delete BATCH...",
		short: "Delete failed or held batches with their jobs",
		long: `Delete failed or held batches, their jobs and what these have in working
directories. Objects that were stored stay where they are, and so do the history and
the reports. It is refused while a job of the batch is worked on.

From the first write on the batch is deleted for everybody. What is interrupted
after it is finished by the janitor, or by asking again.`,
		example: "  accession batch delete bid0000000001 --reason \"withdrawn by the depositor\" --dry-run\n" +
			"  accession batch delete bid0000000001 --reason \"withdrawn by the depositor\" --yes",
		noun: "batch", check: checkBatch, final: true, wants: true,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.DeleteBatch(ctx, domain.BatchID(id), why)
		},
	})
}
