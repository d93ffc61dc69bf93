package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections"
)

// Pool gives the connections to PostgreSQL; tables may be missing.
func (w *World) Pool(ctx context.Context) (*pgxpool.Pool, error) {
	return w.pool.get(ctx, func(ctx context.Context) (*pgxpool.Pool, error) {
		cfg, err := pgxpool.ParseConfig(w.cfg.Postgres)
		if err != nil { // the error repeats the URL without its password
			return nil, failed("open postgres", err, "the setting postgres is a URL such as postgres://USER@HOST/DATABASE")
		}
		cfg.MaxConns = int32(w.cfg.PostgresConns)
		cfg.ConnConfig.RuntimeParams["application_name"] = "accession " + w.cfg.Instance
		pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), cfg)
		if err != nil {
			return nil, w.unavailable(app.ServerPostgres, err)
		}
		ctx, cancel := context.WithTimeout(ctx, openTimeout)
		defer cancel()
		if err := pool.Ping(ctx); err != nil {
			pool.Close()
			return nil, w.unavailable(app.ServerPostgres, err)
		}
		return pool, nil
	})
}

// MakeRoles implements app.Tables.
func (w *World) MakeRoles(ctx context.Context) error {
	pool, err := w.Pool(ctx)
	if err != nil {
		return err
	}
	return projections.MakeRoles(ctx, pool)
}

// Migrate implements app.Tables.
func (w *World) Migrate(ctx context.Context) (map[string]int, error) {
	pool, err := w.Pool(ctx)
	if err != nil {
		return nil, err
	}
	projection, err := projections.Migrate(ctx, pool)
	if err != nil {
		return nil, err
	}
	records, err := record.Migrate(ctx, pool)
	return map[string]int{migrations.ProjectionSchema: projection, migrations.RecordSchema: records}, err
}

// Pending implements app.Tables.
func (w *World) Pending(ctx context.Context) (int, error) {
	pool, err := w.Pool(ctx)
	if err != nil {
		return 0, err
	}
	projection, err := projections.Pending(ctx, pool)
	if err != nil {
		return 0, err
	}
	records, err := record.Pending(ctx, pool)
	return projection + records, err
}

// migrated refuses tables that are older than this program; look tells how many
// migrations are missing.
func (w *World) migrated(ctx context.Context, pool *pgxpool.Pool, look func(context.Context, *pgxpool.Pool) (int, error)) error {
	pending, err := look(ctx, pool)
	if err != nil {
		return fmt.Errorf("look at the tables: %w", err)
	}
	if pending == 0 {
		return nil
	}
	return &app.Error{Kind: app.Failed, What: "postgres", Err: fmt.Errorf("%d migrations are missing from the database: %w", pending, errTables),
		Hint: "`accession migrate` makes and updates the tables"}
}

var errTables = errors.New("its tables are not made, or older than this program")
