package record

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/migrations"
)

// Records reads and writes schema record. It may be used by several goroutines.
type Records struct {
	pool  *pgxpool.Pool
	q     *pgdb.Queries
	leads *leads
}

// New returns the records behind a pool; see [Migrate].
func New(pool *pgxpool.Pool) *Records {
	return &Records{pool: pool, q: pgdb.New(pool), leads: &leads{pool: pool, held: map[string]bool{}}}
}

// inTx runs statements in one transaction. PostgreSQL ends it when the process stands
// still: others wait for what it has locked.
func (r *Records) inTx(ctx context.Context, do func(q *pgdb.Queries) error) error {
	return crash.Around("record/transaction/run", func() error {
		return pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
			q := pgdb.New(tx)
			if err := q.LimitIdleTransaction(ctx); err != nil {
				return err
			}
			err := do(q)
			// A single point, not crash.Around: BeginFunc commits after this function has
			// returned, and record/transaction/run/after follows the commit.
			crash.Point("record/transaction/before-commit")
			return err
		})
	})
}

// change runs a statement that changes the record, between the crash points
// record/NAME/before and record/NAME/after.
func change[T any](name string, statement func() (T, error)) (result T, err error) {
	err = crash.Around("record/"+name, func() (err error) {
		result, err = statement()
		return err
	})
	return result, err
}

// Migrate brings schema record up to date and returns how many migrations that
// took. It is safe to call from several processes at once; roles are not made
// here.
func Migrate(ctx context.Context, pool *pgxpool.Pool) (int, error) {
	return migrations.Up(ctx, pool, migrations.RecordSchema, migrations.Record())
}

// Pending returns how many migrations of the record the database still lacks.
func Pending(ctx context.Context, pool *pgxpool.Pool) (int, error) {
	missing, _, err := migrations.Compare(ctx, pool, migrations.RecordSchema, migrations.Record())
	return missing, err
}

// HighestIDs returns the highest ids of which anything is kept, "" = of none.
func (r *Records) HighestIDs(ctx context.Context) (batch domain.BatchID, job domain.JobID, err error) {
	row, err := r.q.HighestIDs(ctx)
	if err != nil {
		return "", "", fmt.Errorf("find the highest ids: %w", err)
	}
	return domain.BatchID(row.BatchID), domain.JobID(row.JobID), nil
}
