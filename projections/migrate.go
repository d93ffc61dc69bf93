package projections

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/migrations"
)

// Migrate brings the schemas accession and report up to date and returns how many
// migrations that took. It is safe to call from several processes at once. Rights
// are granted to the roles that exist; see [MakeRoles].
func Migrate(ctx context.Context, pool *pgxpool.Pool) (int, error) {
	return migrations.Up(ctx, pool, migrations.ProjectionSchema, migrations.Projection())
}

// Pending returns how many migrations of the projection the database still lacks.
func Pending(ctx context.Context, pool *pgxpool.Pool) (int, error) {
	missing, _, err := migrations.Compare(ctx, pool, migrations.ProjectionSchema, migrations.Projection())
	return missing, err
}

// MakeRoles makes the roles of the server that rights are granted to; [Migrate]
// grants them. The caller must be allowed to make roles.
func MakeRoles(ctx context.Context, pool *pgxpool.Pool) error {
	return migrations.MakeRoles(ctx, pool)
}
