package app

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/projections"
)

func (a *App) reportThroughput(ctx context.Context, o ReportOptions) (Report, error) {
	return sums(ctx, a, o, projections.Throughput, Table{Name: "days", Title: "Days (UTC)", None: "Nothing was done.",
		Columns: columns("day", "batches_submitted", "jobs_completed", "jobs_failed", "files_downloaded", "bytes_downloaded", "files_processed")},
		func(r projections.ThroughputRow) []any {
			return []any{r.Day.Format(time.DateOnly), r.BatchesSubmitted, r.JobsCompleted, r.JobsFailed, r.FilesDownloaded, r.BytesDownloaded, r.FilesProcessed}
		})
}

func (a *App) reportStates(ctx context.Context, o ReportOptions) (Report, error) {
	return sums(ctx, a, o, projections.TimeInState, Table{Name: "states", Title: "Seconds in each state", None: "Nothing has left a state.",
		Columns: columns("kind", "status", "times", "p50", "p95", "p99", "longest")},
		func(r projections.TimeInStateRow) []any {
			return []any{r.Kind, r.Status, r.Times, r.P50, r.P95, r.P99, r.Longest}
		})
}

func (a *App) reportFailures(ctx context.Context, o ReportOptions) (Report, error) {
	return sums(ctx, a, o, projections.Failures, Table{Name: "reasons", Title: "Reasons", None: "No attempt has failed.",
		Columns: columns("kind", "failed_in", "class", "code", "failures", "jobs", "unresolved", "last_failed_at", "last_message")},
		func(r projections.FailureRow) []any {
			return []any{r.Kind, r.FailedIn, r.Class, r.Code, r.Failures, r.Jobs, r.Unresolved, r.LastFailedAt, r.LastMessage}
		})
}

func (a *App) reportSubmitters(ctx context.Context, o ReportOptions) (Report, error) {
	return sums(ctx, a, o, projections.Submitters, Table{Name: "submitters", Title: "Submitters", None: "Nobody has deposited anything.",
		Columns: columns("submitter", "batches", "batches_completed", "batches_failed", "jobs_listed", "jobs_completed", "jobs_failed", "jobs_held",
			"jobs_deleted", "jobs_in_progress", "files_listed", "bytes_downloaded", "first_submitted_at", "last_submitted_at")},
		func(r projections.SubmitterRow) []any {
			return []any{r.Submitter, r.Batches, r.BatchesCompleted, r.BatchesFailed, r.JobsListed, r.JobsCompleted, r.JobsFailed, r.JobsHeld,
				r.JobsDeleted, r.JobsInProgress, r.FilesListed, r.BytesDownloaded, when(r.FirstSubmittedAt), when(r.LastSubmittedAt)}
		})
}

// sums makes a report of one table, whose rows are few.
func sums[T any](ctx context.Context, a *App, o ReportOptions, read func(context.Context, projections.DB, projections.Range) ([]T, error), t Table, row func(T) []any) (Report, error) {
	db, err := a.World.DB(ctx)
	if err != nil {
		return Report{}, err
	}
	list, err := read(ctx, db, o.Range)
	if err != nil {
		return Report{}, err
	}
	t.Rows, t.Total = rowsOf(each(list), row), int64(len(list))
	return Report{Facts: ranged(o), Tables: []Table{t}}, nil
}
