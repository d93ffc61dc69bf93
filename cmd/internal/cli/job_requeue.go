package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) jobRequeue() *cobra.Command {
	return p.operating(verb{
		use:   "requeue JOB...",
		short: "Send failed jobs back to where they failed",
		long: `Send failed jobs back to the state in which they failed. What earlier steps have done
is kept, and so is the record of the failure. It is refused unless the batch is
processing or failed; of a failed one, ask for an update report when the jobs are
done.`,
		example: "  accession job requeue jid0000000001 --reason \"the source answers again\"\n" +
			"  accession job requeue jid0000000001 --dry-run",
		noun: "job", check: checkJob,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.Requeue(ctx, domain.JobID(id), why)
		},
	})
}
