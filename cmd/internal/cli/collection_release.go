package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) collectionRelease() *cobra.Command {
	return p.operating(verb{
		use:   "release COLLECTION...",
		short: "Lift the hold on a collection",
		long: `Lift the hold on a collection. What waits in held because of it stays there until it
is released itself, with batch release and job release.`,
		example: "  accession collection release maps --reason \"terms signed\"",
		noun:    "collection", check: anyName,
		do: func(ctx context.Context, a *app.App, name, why string) (app.Changed, error) {
			return a.ReleaseCollection(ctx, name, why)
		},
	})
}
