package query

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// TotalBatches counts the batches that a filter chooses; Before and Limit are ignored.
func TotalBatches(ctx context.Context, db Reader, f BatchFilter) (int64, error) {
	n, err := pgdb.New(db).CountListedBatches(ctx, pgdb.CountListedBatchesParams{Status: string(f.Status), Submitter: f.Submitter})
	return n, wrap("count batches", err)
}

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

// TotalJobs counts the jobs that a filter chooses; After and Limit are ignored.
func TotalJobs(ctx context.Context, db Reader, f JobFilter) (int64, error) {
	n, err := pgdb.New(db).CountListedJobs(ctx, pgdb.CountListedJobsParams{BatchID: string(f.Batch), Status: string(f.Status)})
	return n, wrap("count jobs", err)
}

// TotalRetries counts the failed attempts of a batch's jobs.
func TotalRetries(ctx context.Context, db Reader, id domain.BatchID) (int64, error) {
	n, err := pgdb.New(db).CountRetries(ctx, string(id))
	return n, wrap("count failed attempts", err)
}

// OldestJobs returns, for each of the states, since when its oldest job is in it; a state without jobs is missing.
func OldestJobs(ctx context.Context, db Reader, states []domain.JobState) (map[domain.JobState]time.Time, error) {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = string(s)
	}
	rows, err := pgdb.New(db).OldestJobs(ctx, names)
	if err != nil {
		return nil, wrap("look for the oldest jobs", err)
	}
	oldest := make(map[domain.JobState]time.Time, len(rows))
	for _, row := range rows {
		if row.StatusSince != nil {
			oldest[domain.JobState(row.Status)] = *row.StatusSince
		}
	}
	return oldest, nil
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
