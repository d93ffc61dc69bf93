package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) jobHold() *cobra.Command {
	return p.operating(verb{
		use:     "hold JOB...",
		short:   "Park pending jobs",
		long:    "Park jobs that are still pending, until they are released.",
		example: "  accession job hold jid0000000001 --reason \"rights unclear\"",
		noun:    "job", check: checkJob,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.HoldJob(ctx, domain.JobID(id), why)
		},
	})
}
