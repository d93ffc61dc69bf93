package record

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/migrations"
)

// Records is the door to schema record. It may be used by several goroutines.
type Records struct {
	pool *pgxpool.Pool
	q    *pgdb.Queries
}

// New opens the records behind a pool; see [Migrate].
func New(pool *pgxpool.Pool) *Records { return &Records{pool: pool, q: pgdb.New(pool)} }

// limitStop lets PostgreSQL end a transaction whose process stands still: what it has
// locked, others wait for.
const limitStop = "set local idle_in_transaction_session_timeout = '5s'"

// inTx runs statements that belong together.
func (r *Records) inTx(ctx context.Context, do func(q *pgdb.Queries) error) error {
	crash.Point("record/transaction/before")
	err := pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, limitStop); err != nil {
			return err
		}
		err := do(pgdb.New(tx))
		crash.Point("record/transaction/before-commit")
		return err
	})
	crash.Point("record/transaction/after-commit")
	return err
}

// Migrate brings schema record up to date and tells how many migrations that
// took. It is safe to call from several processes at once; roles are not made
// here.
func Migrate(ctx context.Context, pool *pgxpool.Pool) (int, error) {
	db := stdlib.OpenDBFromPool(pool)
	defer func() { _ = db.Close() }()
	return migrations.Up(ctx, db, migrations.RecordSchema, migrations.Record())
}

// Pending tells how many migrations of the record the database still lacks.
func Pending(ctx context.Context, pool *pgxpool.Pool) (int, error) {
	db := stdlib.OpenDBFromPool(pool)
	defer func() { _ = db.Close() }()
	return migrations.Pending(ctx, db, migrations.RecordSchema, migrations.Record())
}
