package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) jobDelete() *cobra.Command {
	return p.operating(verb{
		use:   "delete JOB...",
		short: "Delete failed or held jobs",
		long: `Delete failed or held jobs and what they have in working directories. Their history
stays. The answer says what the report of the batch will not tell because of it. It
is refused unless the batch is processing or failed.`,
		example: "  accession job delete jid0000000001 --reason \"sent twice\" --dry-run\n" +
			"  accession job delete jid0000000001 --reason \"sent twice\" --yes",
		noun: "job", check: checkJob, final: true, wants: true,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.DeleteJob(ctx, domain.JobID(id), why)
		},
	})
}
