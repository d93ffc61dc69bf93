package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/tables"
)

func (p *program) migrate() *cobra.Command {
	var roles bool
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Create or update the tables in PostgreSQL",
		Long: `Create or update the tables, under a lock. There are two sets: the projections, which
can be rebuilt from the log (schemas accession and report), and the records, which
cannot (schema record). The service never migrates by itself.

--roles is needed once for each database, by a user who may create roles:
accession_owner owns everything, accession_service has the rights that serve needs,
accession_projector writes projections only, accession_reader reads the views in schema
report and nothing else. They cannot log in; grant them to users who can.`,
		Example: "  accession migrate\n  accession migrate --roles\n  accession --postgres postgres://me@db/accession migrate",
		Args:    cobra.NoArgs,
		RunE: answer(p, func(ctx context.Context, a *app.App, _ []string) (tables.Migrated, error) {
			return tables.Migrate(ctx, a, roles)
		}, func(w io.Writer, done tables.Migrated) {
			for _, schema := range []string{"accession", "record"} {
				fmt.Fprintf(w, "schema %-10s %d migrations applied\n", schema, done.Applied[schema])
			}
		}),
	}
	c.Flags().BoolVar(&roles, "roles", false, "also create the roles of PostgreSQL and grant them their rights")
	return c
}
