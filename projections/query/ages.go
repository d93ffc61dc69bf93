package query

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// OldestJobs tells, for each of the states, since when the job is in it that came
// into it first; a state without jobs is missing.
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
