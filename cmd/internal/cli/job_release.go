package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) jobRelease() *cobra.Command {
	return p.operating(verb{
		use:     "release JOB...",
		short:   "Let held jobs go on",
		long:    "Let held jobs go on. It is refused while their collection is on hold.",
		example: "  accession job release jid0000000001 jid0000000002",
		noun:    "job", check: checkJob,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.ReleaseJob(ctx, domain.JobID(id), why)
		},
	})
}
