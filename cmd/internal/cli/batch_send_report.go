package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) batchSendReport() *cobra.Command {
	return p.operating(verb{
		use:   "send-report BATCH...",
		short: "Send the report of batches to the depositor once more",
		long: `Send the last report of batches once more, as it was kept when it was made, to the
addresses that the profile has now. The mail says that it is sent again, and when.
The batch stays as it is; the history keeps who asked, and why.

It is refused while a report is not made, and when the profile names nobody. Asked
again after it was cut off, it goes on with the same mail under the same key.
accession batch show tells what became of every mail.`,
		example: "  accession batch send-report bid0000000001 --reason \"the depositor lost it\"",
		noun:    "batch", check: checkBatch,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.SendReport(ctx, domain.BatchID(id), why)
		},
	})
}
