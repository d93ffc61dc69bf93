package query

import (
	"cmp"
	"context"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// Rows of summary reports. Their fields are the columns of the views of the same name,
// which the database explains.
type (
	// ThroughputRow is a row of report.daily_throughput.
	ThroughputRow = pgdb.ReportThroughputRow
	// TimeInStateRow is a row of report.time_in_state.
	TimeInStateRow = pgdb.ReportTimeInStateRow
	// FailureRow is a row of report.failure_reasons.
	FailureRow = pgdb.ReportFailuresRow
	// SubmitterRow is a row of report.submitter_activity.
	SubmitterRow = pgdb.ReportSubmittersRow
	// CollectionRow counts the jobs of a collection in one state, their files and bytes.
	CollectionRow = pgdb.ReportCollectionsRow
)

// Throughput returns what was done within the range, by days in UTC; days on which
// nothing was done are missing.
func Throughput(ctx context.Context, db Reader, r Range) ([]ThroughputRow, error) {
	since, until := r.bounds()
	rows, err := pgdb.New(db).ReportThroughput(ctx, pgdb.ReportThroughputParams{Since: since, Until: until, Whole: r.UpTo == 0, UpTo: r.upTo()})
	return rows, wrap("throughput", err)
}

// TimeInState returns how long jobs and files stayed in each state, over all stays
// that ended within the range.
func TimeInState(ctx context.Context, db Reader, r Range) ([]TimeInStateRow, error) {
	since, until := r.bounds()
	rows, err := pgdb.New(db).ReportTimeInState(ctx, pgdb.ReportTimeInStateParams{BatchID: string(r.Batch), Since: since, Until: until, UpTo: r.upTo()})
	return rows, wrap("time in state", err)
}

// Failures returns why attempts failed within the range, the most frequent first.
func Failures(ctx context.Context, db Reader, r Range) ([]FailureRow, error) {
	since, until := r.bounds()
	rows, err := pgdb.New(db).ReportFailures(ctx, pgdb.ReportFailuresParams{BatchID: string(r.Batch), Since: since, Until: until})
	return rows, wrap("failure reasons", err)
}

// Submitters counts the batches deposited within the range by their submitters and
// states.
func Submitters(ctx context.Context, db Reader, r Range) ([]SubmitterRow, error) {
	since, until := r.bounds()
	rows, err := pgdb.New(db).ReportSubmitters(ctx, pgdb.ReportSubmittersParams{Since: &since, Until: &until})
	return rows, wrap("submitters", err)
}

// Collections counts the jobs of each collection in each state.
func Collections(ctx context.Context, db Reader, _ Range) ([]CollectionRow, error) {
	rows, err := pgdb.New(db).ReportCollections(ctx)
	sortCollections(rows)
	return rows, wrap("collections", err)
}

// sortCollections sorts by collection, then by the order of the workflow.
func sortCollections(rows []CollectionRow) {
	order := append(slices.Clone(domain.JobStates), domain.JobDeleted)
	slices.SortFunc(rows, func(a, b CollectionRow) int {
		return cmp.Or(cmp.Compare(a.Collection, b.Collection), cmp.Compare(slices.Index(order, domain.JobState(a.Status)), slices.Index(order, domain.JobState(b.Status))))
	})
}
