package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) collectionHold() *cobra.Command {
	return p.operating(verb{
		use:   "hold COLLECTION...",
		short: "Let nothing new of a collection begin",
		long: `Let nothing new of a collection begin: its new batches and pending jobs wait in held.
From the moment of the answer on no job of it leaves pending for work.`,
		example: "  accession collection hold maps --reason \"new terms\"",
		noun:    "collection", check: anyName,
		do: func(ctx context.Context, a *app.App, name, why string) (app.Changed, error) {
			return a.HoldCollection(ctx, name, why)
		},
	})
}
