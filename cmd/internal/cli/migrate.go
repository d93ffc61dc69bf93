package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) migrate() *cobra.Command {
	var roles bool
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Make or update the tables in PostgreSQL",
		Long: `Make or update the tables, under a lock. Two sets live side by side: those that
follow from the history and can be rebuilt (schemas accession and report), and the
records that cannot (schema record). The service never does this by itself.

With --roles, which is needed once for each database and by somebody who may make
roles: accession_owner owns everything, accession_service is what serve needs,
accession_projector writes projections only, accession_reader reads the views in
schema report and nothing else. They cannot log in; grant them to those who can.`,
		Example: "  accession migrate\n  accession migrate --roles\n  accession --postgres postgres://me@db/accession migrate",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				done, err := a.Migrate(ctx, roles)
				if err != nil {
					return err
				}
				return p.show(done, func(w io.Writer) {
					for _, schema := range []string{"accession", "record"} {
						fmt.Fprintf(w, "schema %-10s %d migrations applied\n", schema, done.Applied[schema])
					}
				})
			})
		}),
	}
	c.Flags().BoolVar(&roles, "roles", false, "make the roles of PostgreSQL too, and grant them their rights")
	return c
}
