package app

import (
	"context"
	"iter"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// batchSource is what reports on one batch read: the tables as they are at one
// moment, so that the report adds up, or the fold up to a moment.
type batchSource struct {
	tables  *query.Snapshot // nil = the fold
	summary BatchSummary
	jobs    iter.Seq2[JobRow, error]
	files   iter.Seq2[FileRow, error]
	retries iter.Seq2[Retry, error]
	reports []query.BatchReport
	nJobs   int64 // about how many there are, and nRetry of the failed attempts
	nRetry  int64
	at      *Place
}

func (a *App) batchSource(ctx context.Context, o ReportOptions) (s batchSource, err error) {
	if !o.At.IsNow() {
		return a.batchThen(ctx, o)
	}
	db, err := a.Open.DB(ctx)
	if err != nil {
		return s, err
	}
	if s.tables, err = query.OpenSnapshot(ctx, db); err != nil {
		return s, err
	}
	if err := s.begin(ctx, o); err != nil {
		s.tables.Close(ctx)
		return s, err
	}
	return s, nil
}

// begin reads what is short; the lists are read while they are written.
func (s *batchSource) begin(ctx context.Context, o ReportOptions) (err error) {
	if s.summary, err = query.Summary(ctx, s.tables, o.Batch); err != nil {
		return err
	}
	if s.reports, err = query.Reports(ctx, s.tables, o.Batch); err != nil {
		return err
	}
	s.nJobs = value(s.summary.RowsListed)
	if s.nRetry, err = query.AboutRetries(ctx, s.tables, o.Range); err != nil {
		return err
	}
	s.jobs = query.Rows(ctx, s.tables, query.BatchJobs(ctx, s.tables, o.Batch))
	s.files = query.Rows(ctx, s.tables, query.BatchFiles(ctx, s.tables, o.Batch))
	s.retries = query.Rows(ctx, s.tables, query.AllRetries(ctx, s.tables, o.Range))
	return s.tables.Unchanged(ctx)
}

// end gives the tables free.
func (s *batchSource) end(ctx context.Context) func() {
	return func() {
		if s.tables != nil {
			s.tables.Close(ctx)
		}
	}
}

func (a *App) batchThen(ctx context.Context, o ReportOptions) (s batchSource, err error) {
	past, at, err := a.batchPast(ctx, o.Batch, o.At)
	if err != nil {
		return s, err
	}
	if s.summary, err = past.Summary(o.Batch); err != nil {
		return s, notYet(string(o.Batch), at, err)
	}
	jobs, retries := past.Jobs(), past.AllRetries()
	s.jobs, s.files, s.retries = each(jobs), each(past.Files()), each(retries)
	s.reports, s.nJobs, s.nRetry, s.at = past.Reports(), int64(len(jobs)), int64(len(retries)), &at
	return s, nil
}

// each gives a list as something that is read.
func each[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range list {
			if !yield(item, nil) {
				return
			}
		}
	}
}

func (a *App) reportBatch(ctx context.Context, o ReportOptions) (Report, error) {
	s, err := a.batchSource(ctx, o)
	if err != nil {
		return Report{}, err
	}
	return Report{At: s.at, Facts: adding(s.summary), end: s.end(ctx), Tables: []Table{
		{Name: "jobs", Title: "Jobs", None: "No job was made.", Total: s.nJobs,
			Columns: columns("job_id", "status", "what", "primary_identifier", "local_id", "files", "bytes", "retry_count", "completed_at", "reason_class", "reason_code", "reason_message"),
			Rows: rowsOf(s.jobs, func(j JobRow) []any {
				class, code, message := cell(j.ReasonClass), cell(j.ReasonCode), cell(j.ReasonMessage)
				if j.Status == string(domain.JobCompleted) {
					class, code, message = nil, nil, nil
				}
				return []any{j.ID, j.Status, jobName(j), j.PrimaryIdentifier, joined(j.LocalID), cell(j.Files), cell(j.Bytes), j.RetryCount,
					cell(j.CompletedAt), class, code, message}
			})},
		retriesTable(s.retries, s.nRetry),
		{Name: "reports", Title: "Reports made", None: "No report has been made yet.", Total: int64(len(s.reports)),
			Columns: columns("report", "kind", "reported_at", "status", "successful", "failed", "newly_successful"),
			Rows: rowsOf(each(s.reports), func(r query.BatchReport) []any {
				return []any{r.Report, r.Kind, r.ReportedAt, r.Status, r.Successful, r.Failed, r.NewlySuccessful}
			})},
	}}, nil
}

// retriesTable is failed attempts, of jobs and files.
func retriesTable(retries iter.Seq2[Retry, error], total int64) Table {
	return Table{Name: "attempts", Title: "Failed attempts", None: "No attempt has failed.", Total: total,
		Columns: columns("batch_id", "job_id", "kind", "file_name", "attempt", "failed_in", "class", "code", "message", "worker", "failed_at",
			"resumed_at", "resumed_by", "resumed_to", "seconds_waiting", "outcome", "trace_id"),
		Rows: rowsOf(retries, func(r Retry) []any {
			return []any{r.BatchID, r.JobID, r.Kind, r.FileName, r.Attempt, r.FailedIn, r.Class, r.Code, r.Message, r.Worker, r.FailedAt,
				cell(r.ResumedAt), cell(r.ResumedBy), cell(r.ResumedTo), cell(r.SecondsWaiting), r.Outcome, cell(r.TraceID)}
		})}
}

// joined writes a list as one text.
func joined(list []string) any {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	text := list[0]
	for _, s := range list[1:] {
		text += "; " + s
	}
	return text
}
