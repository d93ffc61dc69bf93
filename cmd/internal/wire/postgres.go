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
	"github.com/accession-ingest/accession/projections/query"
)

// heldConns is how many connections one process holds for long, each while its holder needs
// another: the projector's lock, what listens for those who wait for the tables, and one for
// all leads. They come on top of those that the configuration allows, or all would wait for
// each other.
const heldConns = 3

// Pool returns the connections to PostgreSQL; tables may be missing.
func (in *Installation) Pool(ctx context.Context) (*pgxpool.Pool, error) {
	return in.pool.get(ctx, func(ctx context.Context) (*pgxpool.Pool, error) {
		cfg, err := pgxpool.ParseConfig(in.cfg.Postgres)
		if err != nil { // the error repeats the URL without its password
			return nil, failed("open postgres", err, "the setting postgres is a URL such as postgres://USER@HOST/DATABASE")
		}
		cfg.MaxConns = int32(in.cfg.PostgresConns + heldConns)
		cfg.ConnConfig.RuntimeParams["application_name"] = "accession " + in.cfg.Instance
		projections.InUTC(cfg)
		pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), cfg)
		if err != nil {
			return nil, in.unavailable(app.ServerPostgres, err)
		}
		ctx, cancel := context.WithTimeout(ctx, in.cfg.OpenTimeout)
		defer cancel()
		if err := pool.Ping(ctx); err != nil {
			pool.Close()
			return nil, in.unavailable(app.ServerPostgres, err)
		}
		return pool, nil
	})
}

// DB implements app.Tables.
func (in *Installation) DB(ctx context.Context) (query.DB, error) {
	return in.migrated(ctx, projections.Pending)
}

// Records implements app.Effects.
func (in *Installation) Records(ctx context.Context) (*record.Records, error) {
	pool, err := in.migrated(ctx, record.Pending)
	if err != nil {
		return nil, err
	}
	return record.New(pool), nil
}

// MakeRoles implements app.Tables.
func (in *Installation) MakeRoles(ctx context.Context) error {
	pool, err := in.Pool(ctx)
	if err != nil {
		return err
	}
	return projections.MakeRoles(ctx, pool)
}

// Migrate implements app.Tables.
func (in *Installation) Migrate(ctx context.Context) (map[string]int, error) {
	pool, err := in.Pool(ctx)
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
func (in *Installation) Pending(ctx context.Context) (int, error) {
	pool, err := in.Pool(ctx)
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

// migrated returns the pool, unless migrations of a schema are missing from the
// database: its tables are older than this program.
func (in *Installation) migrated(ctx context.Context, pending func(context.Context, *pgxpool.Pool) (int, error)) (*pgxpool.Pool, error) {
	pool, err := in.Pool(ctx)
	if err != nil {
		return nil, err
	}
	missing, err := pending(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("check the tables: %w", err)
	}
	if missing > 0 {
		return nil, &app.Error{Kind: app.Failed, What: "postgres", Err: fmt.Errorf("%d migrations are missing from the database: %w", missing, errTables),
			Hint: "`accession migrate` makes and updates the tables"}
	}
	return pool, nil
}

var errTables = errors.New("its tables are not made, or older than this program")
