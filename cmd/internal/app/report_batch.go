package app

import (
	"context"
	"iter"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// BatchReportView is the report of a batch: the state of each of its jobs, the reports
// made so far, and every failed attempt. It always adds up: rows_listed is the sum of
// the five counts that follow it.
type BatchReportView struct {
	BatchSummary
	Reports []query.BatchReport `json:"reports_made"`
	Jobs    []JobRow            `json:"jobs"`
	Retries []Retry             `json:"retries"`
	// The totals count all rows in the tables; Truncated says that not all jobs or not
	// all failed attempts are listed.
	JobsTotal    int64 `json:"jobs_total"`
	RetriesTotal int64 `json:"retries_total"`
	Truncated    bool  `json:"truncated"`
	// At is the event as of which the batch is shown, nil = now.
	At *AsOf `json:"at,omitempty"`
}

// BatchReport returns the report of a batch, at any time. Up to limit jobs and as many
// failed attempts are listed.
func (a *App) BatchReport(ctx context.Context, id domain.BatchID, limit int) (v BatchReportView, err error) {
	defer explained(&err, "report "+string(id))
	db, err := a.Open.DB(ctx)
	if err != nil {
		return v, err
	}
	snapshot, err := query.OpenSnapshot(ctx, db)
	if err != nil {
		return v, err
	}
	defer snapshot.Close(ctx)
	t := &reading{db: snapshot}
	v.BatchSummary = ask(ctx, t, query.Summary, id)
	v.Reports = notNil(ask(ctx, t, query.Reports, id))
	v.Jobs = notNil(ask(ctx, t, query.Jobs, JobFilter{Batch: id, Limit: limit}))
	v.Retries = notNil(ask(ctx, t, func(ctx context.Context, db query.Reader, id domain.BatchID) ([]Retry, error) {
		return query.Retries(ctx, db, id, limit)
	}, id))
	v.JobsTotal = ask(ctx, t, query.TotalJobs, JobFilter{Batch: id})
	v.RetriesTotal = ask(ctx, t, query.TotalRetries, id)
	v.Truncated = v.JobsTotal > int64(len(v.Jobs)) || v.RetriesTotal > int64(len(v.Retries))
	if t.err != nil {
		return v, missing(t.err, "`accession batch show "+string(id)+"` finds one that was accepted a moment ago; `accession status` shows how far the tables are behind",
			"it is not in the tables")
	}
	return v, snapshot.Unchanged(ctx)
}

// BatchReportAt returns the report as it would have been then.
func (a *App) BatchReportAt(ctx context.Context, id domain.BatchID, m Moment, limit int) (v BatchReportView, err error) {
	defer explained(&err, "report "+string(id))
	past, at, err := a.batchPast(ctx, id, m)
	if err != nil {
		return v, err
	}
	v.BatchSummary, err = past.Summary(id)
	jobs, retries := past.Jobs(), past.Retries(domain.KindJob)
	v.At, v.Reports, v.JobsTotal, v.RetriesTotal = &at, notNil(past.Reports()), int64(len(jobs)), int64(len(retries))
	v.Jobs, v.Retries = notNil(jobs[:min(len(jobs), limit)]), notNil(retries[:min(len(retries), limit)])
	v.Truncated = len(v.Jobs) < len(jobs) || len(v.Retries) < len(retries)
	return v, notYet(at, err)
}

// batchSource is the source of a report on one batch: the tables in one snapshot, so
// that the report adds up, or the fold up to a moment.
type batchSource struct {
	tables  *query.Snapshot // nil = the fold
	summary BatchSummary
	jobs    iter.Seq2[JobRow, error]
	files   iter.Seq2[FileRow, error]
	retries iter.Seq2[Retry, error]
	reports []query.BatchReport
	nJobs   int64 // estimated number of jobs; nRetry that of failed attempts
	nRetry  int64
	at      *AsOf
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
	if err = s.begin(ctx, o); err != nil {
		s.tables.Close(ctx)
	}
	return s, err
}

// begin reads the summary; the lists are read while they are written.
func (s *batchSource) begin(ctx context.Context, o ReportOptions) error {
	t := &reading{db: s.tables}
	s.summary = ask(ctx, t, query.Summary, o.Batch)
	s.reports = ask(ctx, t, query.Reports, o.Batch)
	s.nRetry = ask(ctx, t, query.AboutRetries, o.Range)
	s.nJobs = value(s.summary.RowsListed)
	s.jobs = query.Rows(ctx, s.tables, query.BatchJobs(ctx, s.tables, o.Batch))
	s.files = query.Rows(ctx, s.tables, query.BatchFiles(ctx, s.tables, o.Batch))
	s.retries = query.Rows(ctx, s.tables, query.AllRetries(ctx, s.tables, o.Range))
	if t.err != nil {
		return t.err
	}
	return s.tables.Unchanged(ctx)
}

// end releases the snapshot.
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
	s.summary, err = past.Summary(o.Batch)
	jobs, retries := past.Jobs(), past.AllRetries()
	s.jobs, s.files, s.retries = each(jobs), each(past.Files()), each(retries)
	s.reports, s.nJobs, s.nRetry, s.at = past.Reports(), int64(len(jobs)), int64(len(retries)), &at
	return s, notYet(at, err)
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

// retriesTable returns a table of failed attempts of jobs and files.
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
	if len(list) == 0 {
		return nil
	}
	return strings.Join(list, "; ")
}
