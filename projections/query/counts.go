package query

import (
	"context"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// CountBatches counts all batches by state; states without batches are missing.
func CountBatches(ctx context.Context, db Reader) (map[domain.BatchState]int64, error) {
	rows, err := pgdb.New(db).CountBatches(ctx)
	if err != nil {
		return nil, wrap("count batches", err)
	}
	n := make(map[domain.BatchState]int64, len(rows))
	for _, row := range rows {
		n[domain.BatchState(row.Status)] = row.N
	}
	return n, nil
}

// TotalRetries counts the failed attempts of a batch's jobs.
func TotalRetries(ctx context.Context, db Reader, id domain.BatchID) (int64, error) {
	n, err := pgdb.New(db).CountRetries(ctx, string(id))
	return n, wrap("count failed attempts", err)
}

// HeldCount is how many batches and jobs of a profile are held.
type HeldCount struct {
	Batches, Jobs int64
}

// Held counts the held batches and jobs by profile; a profile without any is
// missing.
func Held(ctx context.Context, db Reader) (map[string]HeldCount, error) {
	rows, err := pgdb.New(db).HeldByProfile(ctx)
	if err != nil {
		return nil, wrap("count what is held", err)
	}
	held := make(map[string]HeldCount, len(rows))
	for _, row := range rows {
		held[row.ProfileName] = HeldCount{row.Batches, row.Jobs}
	}
	return held, nil
}

// HeldByCollection lists the batches, and then the jobs, of some profiles that wait
// because of the hold on their collection.
func HeldByCollection(ctx context.Context, db Reader, profiles []string) ([]domain.Aggregate, error) {
	rows, err := pgdb.New(db).HeldByCollection(ctx, profiles)
	held := make([]domain.Aggregate, len(rows))
	for i, row := range rows {
		held[i] = domain.Aggregate{Kind: domain.Kind(row.Kind), ID: row.ID}
	}
	return held, wrap("list what is held", err)
}
