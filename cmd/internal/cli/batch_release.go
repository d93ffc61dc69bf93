package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) batchRelease() *cobra.Command {
	return p.operating(verb{
		use:   "release BATCH...",
		short: "Let held batches go on",
		long: `Let batches go on that were held because their collection was on hold. It is
refused while that hold stands.`,
		example: "  accession batch release bid0000000001\n  accession batch release bid0000000001 bid0000000002 --reason \"terms signed\"",
		noun:    "batch", check: checkBatch,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.ReleaseBatch(ctx, domain.BatchID(id), why)
		},
	})
}
