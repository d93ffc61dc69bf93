package projections

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/accession-ingest/accession/migrations"
)

// Migrate brings the schemas accession and report up to date and tells how many
// migrations that took. It is safe to call from several processes at once. Rights
// are granted to the roles that exist; see [MakeRoles].
func Migrate(ctx context.Context, pool *pgxpool.Pool) (int, error) {
	db := stdlib.OpenDBFromPool(pool)
	defer func() { _ = db.Close() }()
	return migrations.Up(ctx, db, migrations.ProjectionSchema, migrations.Projection())
}

// Pending tells how many migrations of the projection the database still lacks.
func Pending(ctx context.Context, pool *pgxpool.Pool) (int, error) {
	db := stdlib.OpenDBFromPool(pool)
	defer func() { _ = db.Close() }()
	return migrations.Pending(ctx, db, migrations.ProjectionSchema, migrations.Projection())
}

// MakeRoles makes the roles of the server that rights are granted to; [Migrate]
// grants them. The one who connects must be allowed to make roles.
func MakeRoles(ctx context.Context, pool *pgxpool.Pool) error {
	db := stdlib.OpenDBFromPool(pool)
	defer func() { _ = db.Close() }()
	return migrations.MakeRoles(ctx, db)
}
