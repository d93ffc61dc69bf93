package app

import (
	"context"
	"iter"
	"time"

	"github.com/accession-ingest/accession/projections/query"
)

func (a *App) reportRetries(ctx context.Context, o ReportOptions) (Report, error) {
	switch {
	case o.At.IsNow():
		t := a.read(ctx)
		n := ask(ctx, t, query.AboutRetries, o.Range)
		return Report{Facts: ranged(o), Tables: []Table{retriesTable(query.AllRetries(ctx, t.db, o.Range), n)}}, t.err
	case o.Batch != "":
		s, err := a.batchThen(ctx, o)
		return Report{At: s.at, Facts: ranged(o), Tables: []Table{retriesTable(s.retries, s.nRetry)}}, err
	}
	past, at, err := a.wholePast(ctx, o.At)
	if err != nil {
		return Report{}, err
	}
	retries := past.AllRetries()
	return Report{At: &at, Tables: []Table{retriesTable(each(retries), int64(len(retries)))}}, nil
}

func (a *App) reportFiles(ctx context.Context, o ReportOptions) (Report, error) {
	if !o.At.IsNow() && o.Batch != "" {
		return a.filesThen(ctx, o)
	}
	db, at, err := a.tables(ctx, &o)
	if err != nil {
		return Report{}, err
	}
	n, err := query.AboutFileMoves(ctx, db, o.Range)
	return movesReport(o, at, query.FileMoves(ctx, db, o.Range), n), err
}

func (a *App) filesThen(ctx context.Context, o ReportOptions) (Report, error) {
	past, at, err := a.batchPast(ctx, o.Batch, o.At)
	if err != nil {
		return Report{}, err
	}
	_, err = past.Summary(o.Batch)
	moves := past.FileMoves()
	return movesReport(o, &at, each(moves), int64(len(moves))), notYet(at, err)
}

// movesReport reports changes of files' states.
func movesReport(o ReportOptions, at *AsOf, moves iter.Seq2[query.FileMove, error], n int64) Report {
	return Report{At: at, Facts: ranged(o), Tables: []Table{{
		Name: "changes", Title: "Changes of files", None: "No file has changed.", Total: n,
		Columns: columns("batch_id", "job_id", "path", "version", "from_status", "to_status", "at", "seconds", "actor", "worker",
			"download_attempts", "processing_attempts", "size", "reason_class", "reason_code", "reason_message", "raw_file_hash"),
		Rows: rowsOf(moves, func(m query.FileMove) []any {
			return []any{m.BatchID, m.JobID, m.Path, m.Version, m.FromStatus, m.ToStatus, m.At, cell(m.Seconds), m.Actor, m.Worker,
				m.DownloadAttempts, m.ProcessingAttempts, m.Size, cell(m.ReasonClass), cell(m.ReasonCode), cell(m.ReasonMessage), m.RawFileHash}
		})}}}
}

func (a *App) reportThroughput(ctx context.Context, o ReportOptions) (Report, error) {
	return sums(ctx, o, fromTables(a, query.Throughput), Table{Name: "days", Title: "Days (UTC)", None: "Nothing was done.",
		Columns: columns("day", "batches_submitted", "jobs_completed", "jobs_failed", "files_downloaded", "bytes_downloaded", "files_processed")},
		func(r query.ThroughputRow) []any {
			return []any{r.Day.Format(time.DateOnly), r.BatchesSubmitted, r.JobsCompleted, r.JobsFailed, r.FilesDownloaded, r.BytesDownloaded, r.FilesProcessed}
		})
}

func (a *App) reportStates(ctx context.Context, o ReportOptions) (Report, error) {
	return sums(ctx, o, fromTables(a, query.TimeInState), Table{Name: "states", Title: "Seconds in each state", None: "Nothing has left a state.",
		Columns: columns("kind", "status", "times", "p50", "p95", "p99", "longest")},
		func(r query.TimeInStateRow) []any {
			return []any{r.Kind, r.Status, r.Times, r.P50, r.P95, r.P99, r.Longest}
		})
}

func (a *App) reportFailures(ctx context.Context, o ReportOptions) (Report, error) {
	return sums(ctx, o, a.failures, Table{Name: "reasons", Title: "Reasons", None: "No attempt has failed.",
		Columns: columns("kind", "failed_in", "class", "code", "failures", "jobs", "unresolved", "last_failed_at", "last_message")},
		func(r query.FailureRow) []any {
			return []any{r.Kind, r.FailedIn, r.Class, r.Code, r.Failures, r.Jobs, r.Unresolved, r.LastFailedAt, r.LastMessage}
		})
}

func (a *App) reportSubmitters(ctx context.Context, o ReportOptions) (Report, error) {
	return sums(ctx, o, a.submitters, Table{Name: "submitters", Title: "Submitters", None: "There are no deposits.",
		Columns: columns("submitter", "batches", "batches_completed", "batches_failed", "jobs_listed", "jobs_completed", "jobs_failed", "jobs_held",
			"jobs_deleted", "jobs_in_progress", "files_listed", "bytes_downloaded", "first_submitted_at", "last_submitted_at")},
		func(r query.SubmitterRow) []any {
			return []any{r.Submitter, r.Batches, r.BatchesCompleted, r.BatchesFailed, r.JobsListed, r.JobsCompleted, r.JobsFailed, r.JobsHeld,
				r.JobsDeleted, r.JobsInProgress, r.FilesListed, r.BytesDownloaded, when(r.FirstSubmittedAt), when(r.LastSubmittedAt)}
		})
}

// sums makes a report of one table, whose rows are few.
func sums[T any](ctx context.Context, o ReportOptions, read func(context.Context, ReportOptions) ([]T, *AsOf, error), t Table, row func(T) []any) (Report, error) {
	list, at, err := read(ctx, o)
	if err != nil {
		return Report{}, err
	}
	t.Rows, t.Total = rowsOf(each(list), row), int64(len(list))
	return Report{At: at, Facts: ranged(o), Tables: []Table{t}}, nil
}

// tables returns the tables; as of a moment, with the range up to there.
func (a *App) tables(ctx context.Context, o *ReportOptions) (query.DB, *AsOf, error) {
	if o.At.IsNow() {
		db, err := a.Open.DB(ctx)
		return db, nil, err
	}
	db, at, err := a.tablesAt(ctx, o.At)
	o.UpTo = at.Seq
	return db, &at, err
}

// fromTables reads rows that the tables have by sequence, now or as of a moment.
func fromTables[T any](a *App, read func(context.Context, query.Reader, query.Range) ([]T, error)) func(context.Context, ReportOptions) ([]T, *AsOf, error) {
	return func(ctx context.Context, o ReportOptions) ([]T, *AsOf, error) {
		db, at, err := a.tables(ctx, &o)
		if err != nil {
			return nil, nil, err
		}
		list, err := read(ctx, db, o.Range)
		return list, at, err
	}
}

func (a *App) failures(ctx context.Context, o ReportOptions) ([]query.FailureRow, *AsOf, error) {
	if o.At.IsNow() {
		return fromTables(a, query.Failures)(ctx, o)
	}
	past, at, err := a.pastFor(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	return past.Failures(), &at, nil
}

func (a *App) submitters(ctx context.Context, o ReportOptions) ([]query.SubmitterRow, *AsOf, error) {
	if o.At.IsNow() {
		return fromTables(a, query.Submitters)(ctx, o)
	}
	past, at, err := a.wholePast(ctx, o.At)
	if err != nil {
		return nil, nil, err
	}
	return past.Submitters(), &at, nil
}

// pastFor folds the history that a report needs.
func (a *App) pastFor(ctx context.Context, o ReportOptions) (*query.Past, AsOf, error) {
	if o.Batch != "" {
		return a.batchPast(ctx, o.Batch, o.At)
	}
	return a.wholePast(ctx, o.At)
}
