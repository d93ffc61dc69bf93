package query

import (
	"context"

	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// FailedGroup is a row of the failed jobs by why they failed.
type FailedGroup = pgdb.FailedJobsRow

// FailedJobs groups the failed jobs that a filter chooses by code, host, collection and profile:
// at most f.Limit groups, those of most jobs first. State and After are ignored.
func FailedJobs(ctx context.Context, db Reader, f JobFilter) ([]FailedGroup, error) {
	f.Filter = f.narrowed()
	limited, collections, own := f.Sees.Limits()
	rows, err := pgdb.New(db).FailedJobs(ctx, pgdb.FailedJobsParams{
		BatchID: string(f.Batch), MaxRows: atMost(f.Limit), Profile: f.Profile, Collection: f.Collection, Submitter: f.Submitter, Code: f.Code, Host: f.Host,
		Since: given(f.Since), Until: given(f.Until), Limited: limited, Collections: collections, Own: own})
	return rows, wrap("group failed jobs", err)
}
