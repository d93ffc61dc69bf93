package query

import (
	"context"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// TotalBatches counts the batches that a filter chooses; Before and Limit play no
// part.
func TotalBatches(ctx context.Context, db Reader, f BatchFilter) (int64, error) {
	n, err := pgdb.New(db).CountListedBatches(ctx, pgdb.CountListedBatchesParams{Status: string(f.Status), Submitter: f.Submitter})
	return n, wrap("count batches", err)
}

// CountBatches counts all batches by state; a state that none is in is missing.
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

// TotalJobs counts the jobs that a filter chooses; After and Limit play no part.
func TotalJobs(ctx context.Context, db Reader, f JobFilter) (int64, error) {
	n, err := pgdb.New(db).CountListedJobs(ctx, pgdb.CountListedJobsParams{BatchID: string(f.Batch), Status: string(f.Status)})
	return n, wrap("count jobs", err)
}

// TotalRetries counts the failed attempts of a batch's jobs.
func TotalRetries(ctx context.Context, db Reader, id domain.BatchID) (int64, error) {
	n, err := pgdb.New(db).CountRetries(ctx, string(id))
	return n, wrap("count failed attempts", err)
}
