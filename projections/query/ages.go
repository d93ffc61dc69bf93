package query

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// Standing is a job or batch, its state, and since when it waits there.
type Standing[ID, State ~string] struct {
	ID    ID
	State State
	Since time.Time
}

// OldestJobs returns, for each of the states, up to limit jobs that have been in it
// longest, the oldest first.
func OldestJobs(ctx context.Context, db Reader, states []domain.JobState, limit int) ([]Standing[domain.JobID, domain.JobState], error) {
	rows, err := pgdb.New(db).OldestJobs(ctx, pgdb.OldestJobsParams{States: words(states), MaxRows: atMost(limit)})
	if err != nil {
		return nil, wrap("look for the oldest jobs", err)
	}
	var list []Standing[domain.JobID, domain.JobState]
	for _, row := range rows {
		if row.StatusSince != nil {
			list = append(list, Standing[domain.JobID, domain.JobState]{domain.JobID(row.ID), domain.JobState(row.Status), *row.StatusSince})
		}
	}
	return list, nil
}

// OldestBatches returns, for each of the states, up to limit batches that have not changed
// for longest, the oldest first, and when each last changed.
func OldestBatches(ctx context.Context, db Reader, states []domain.BatchState, limit int) ([]Standing[domain.BatchID, domain.BatchState], error) {
	rows, err := pgdb.New(db).OldestBatches(ctx, pgdb.OldestBatchesParams{States: words(states), MaxRows: atMost(limit)})
	if err != nil {
		return nil, wrap("look for the oldest batches", err)
	}
	var list []Standing[domain.BatchID, domain.BatchState]
	for _, row := range rows {
		if row.LastModified != nil {
			list = append(list, Standing[domain.BatchID, domain.BatchState]{domain.BatchID(row.ID), domain.BatchState(row.Status), *row.LastModified})
		}
	}
	return list, nil
}

func words[T ~string](list []T) []string {
	all := make([]string, len(list))
	for i, w := range list {
		all[i] = string(w)
	}
	return all
}
