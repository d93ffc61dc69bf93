package report

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app/hint"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// Source is the source of a report on one batch: the tables in one snapshot, so that the
// report adds up, or the fold up to a moment.
type Source struct {
	Tables  *query.Snapshot // nil = the fold
	Summary query.BatchSummary
	Jobs    iter.Seq2[query.JobRow, error]
	Files   iter.Seq2[query.FileRow, error]
	Retries iter.Seq2[query.Retry, error]
	// Warnings are those about manifests.
	Warnings        iter.Seq2[query.ManifestWarning, error]
	Reports         []query.BatchReport
	MetadataRecords *domain.MetadataRecords // of a metadata deposit
	NJobs           int64                   // estimated number of jobs; NRetry that of failed attempts
	NRetry          int64
	NWarning        int64 // number of warnings
	At              *AsOf
}

// Now reads the summary of a batch from a snapshot, which the report closes; the lists
// are read while they are written.
func Now(ctx context.Context, tables *query.Snapshot, r query.Range) (s Source, err error) {
	s.Tables = tables
	if s.Summary, err = query.Summary(ctx, tables, r.Batch); err != nil {
		return s, err
	}
	if s.Reports, err = query.Reports(ctx, tables, r.Batch); err != nil {
		return s, err
	}
	if s.NRetry, err = query.EstimateRetries(ctx, tables, r); err != nil {
		return s, err
	}
	if s.NWarning, err = query.TotalWarnings(ctx, tables, r.Batch); err != nil {
		return s, err
	}
	if s.MetadataRecords, err = query.MetadataRecords(ctx, tables, r.Batch); err != nil {
		return s, err
	}
	s.NJobs = value(s.Summary.RowsListed)
	s.Jobs = query.Rows(ctx, tables, query.BatchJobs(ctx, tables, r.Batch))
	s.Files = query.Rows(ctx, tables, query.BatchFiles(ctx, tables, r.Batch))
	s.Retries = query.Rows(ctx, tables, query.AllRetries(ctx, tables, r))
	s.Warnings = query.Rows(ctx, tables, query.AllWarnings(ctx, tables, r.Batch))
	return s, tables.Unchanged(ctx)
}

// Then is the source of a report as of a moment, up to which a batch was folded.
func Then(past *query.Past, at AsOf, batch domain.BatchID) (s Source, err error) {
	s.Summary, err = past.Summary(batch)
	jobs, retries := past.Jobs(), past.AllRetries()
	s.Jobs, s.Files, s.Retries = Each(jobs), Each(past.Files()), Each(retries)
	s.Reports, s.NJobs, s.NRetry, s.At = past.Reports(), int64(len(jobs)), int64(len(retries)), &at
	warnings := past.Warnings(batch)
	s.Warnings, s.NWarning, s.MetadataRecords = Each(warnings), int64(len(warnings)), past.MetadataRecords(batch)
	return s, err
}

// end releases the snapshot.
func (s *Source) end(ctx context.Context) func() {
	return func() {
		if s.Tables != nil {
			s.Tables.Close(ctx)
		}
	}
}

// Batch reports how a batch went; objects has the records of a metadata deposit.
func Batch(ctx context.Context, s Source, objects Objects) Report {
	r := Report{At: s.At, Facts: batchFacts(s.Summary), end: s.end(ctx), Tables: []Table{
		{Name: "jobs", Title: "Jobs", None: "No job was made.", Total: s.NJobs,
			Columns: columns("job_id", "status", "what", "primary_identifier", "object_version", "local_id", "files", "bytes", "retry_count", "completed_at", "reason_class", "reason_code", "reason_message"),
			Rows: rowsOf(s.Jobs, func(j query.JobRow) []any {
				class, code, message := cell(j.ReasonClass), cell(j.ReasonCode), cell(j.ReasonMessage)
				if j.Status == string(domain.JobCompleted) {
					class, code, message = nil, nil, nil
				}
				return []any{j.ID, j.Status, jobName(j), j.PrimaryIdentifier, cell(j.ObjectVersion), joined(j.LocalID), cell(j.Files), cell(j.Bytes), j.RetryCount,
					cell(j.CompletedAt), class, code, message}
			})},
		{Name: "warnings", Title: "Warnings about manifests", None: "Every manifest was taken as it is written.", Total: s.NWarning,
			Columns: columns("job_id", "number", "warning"),
			Rows:    rowsOf(s.Warnings, func(w query.ManifestWarning) []any { return []any{w.JobID, w.Number, w.Warning} })},
		attempts(s.Retries, s.NRetry),
		{Name: "reports", Title: "Reports made", None: "No report has been made yet.", Total: int64(len(s.Reports)),
			Columns: columns("report", "kind", "reported_at", "status", "successful", "failed", "newly_successful"),
			Rows: rowsOf(Each(s.Reports), func(r query.BatchReport) []any {
				return []any{r.Report, r.Kind, r.ReportedAt, r.Status, r.Successful, r.Failed, r.NewlySuccessful}
			})},
	}}
	if s.Summary.JobsFailed > 0 {
		r.Tables = append([]Table{causes(s.Jobs)}, r.Tables...)
	}
	if s.MetadataRecords != nil {
		r.Facts = append(r.Facts, Fact{"records", "records", MetadataCounts(*s.MetadataRecords)})
		r.Tables = append(r.Tables, metadataRecords(ctx, objects, *s.MetadataRecords))
	}
	return r
}

// causes groups failed jobs by why and with whose payloads they failed, most first.
func causes(jobs iter.Seq2[query.JobRow, error]) Table {
	type cause struct {
		class      domain.Class
		code, host string
	}
	type group struct {
		cause
		jobs             int64
		message, example string
	}
	return Table{Name: "causes", Title: "Why jobs failed", None: "No job has failed.", Sum: true,
		Columns: columns("jobs", "code", "host", "who_acts", "message", "what_to_do", "example"),
		Rows: func(yield func([]any, error) bool) {
			groups := map[cause]*group{}
			for j, err := range jobs {
				if err != nil {
					yield(nil, err)
					return
				}
				if j.Status != string(domain.JobFailed) || j.ReasonCode == nil {
					continue
				}
				c := cause{class: domain.Class(value(j.ReasonClass)), code: *j.ReasonCode}
				if u, err := url.Parse(j.PayloadUrl); err == nil {
					c.host = u.Host
				}
				g := groups[c]
				if g == nil {
					g = &group{cause: c, message: value(j.ReasonMessage), example: j.ID}
					groups[c] = g
				}
				g.jobs++
			}
			for _, g := range slices.SortedFunc(maps.Values(groups), func(a, b *group) int {
				return cmp.Or(cmp.Compare(b.jobs, a.jobs), cmp.Compare(a.example, b.example))
			}) {
				if !yield([]any{g.jobs, g.code, g.host, string(g.class.WhoActs()), g.message, hint.Mend(g.class, domain.Code(g.code)), g.example}, nil) {
					return
				}
			}
		}}
}

// MetadataCounts returns in words how many records of a metadata deposit have which
// outcome.
func MetadataCounts(l domain.MetadataRecords) string {
	return fmt.Sprintf("%d = %d Success + %d Warning + %d Failure", l.Success+l.Warning+l.Failure, l.Success, l.Warning, l.Failure)
}

// attempts returns a table of failed attempts of jobs and files.
func attempts(retries iter.Seq2[query.Retry, error], total int64) Table {
	return Table{Name: "attempts", Title: "Failed attempts", None: "No attempt has failed.", Total: total,
		Columns: columns("batch_id", "job_id", "kind", "file_name", "attempt", "failed_in", "class", "code", "message", "worker", "failed_at",
			"resumed_at", "resumed_by", "resumed_to", "seconds_waiting", "outcome", "trace_id"),
		Rows: rowsOf(retries, func(r query.Retry) []any {
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
