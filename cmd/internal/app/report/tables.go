package report

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// Attempts reports failed attempts of jobs and files; n is about how many they are.
func Attempts(in query.Range, at *AsOf, retries iter.Seq2[query.Retry, error], n int64) Report {
	return Report{At: at, Facts: ranged(in), Tables: []Table{attempts(retries, n)}}
}

// Moves reports changes of files' states; n is about how many they are.
func Moves(in query.Range, at *AsOf, moves iter.Seq2[query.FileMove, error], n int64) Report {
	return Report{At: at, Facts: ranged(in), Tables: []Table{{
		Name: "changes", Title: "Changes of files", None: "No file has changed.", Total: n,
		Columns: columns("batch_id", "job_id", "path", "version", "from_status", "to_status", "at", "seconds", "actor", "worker",
			"download_attempts", "processing_attempts", "size", "reason_class", "reason_code", "reason_message", "raw_file_hash"),
		Rows: rowsOf(moves, func(m query.FileMove) []any {
			return []any{m.BatchID, m.JobID, m.Path, m.Version, m.FromStatus, m.ToStatus, m.At, cell(m.Seconds), m.Actor, m.Worker,
				m.DownloadAttempts, m.ProcessingAttempts, m.Size, cell(m.ReasonClass), cell(m.ReasonCode), cell(m.ReasonMessage), m.RawFileHash}
		})}}}
}

// Throughput reports what was done on each day.
func Throughput(in query.Range, at *AsOf, list []query.ThroughputRow) Report {
	return sums(in, at, list, Table{Name: "days", Title: "Days (UTC)", None: "Nothing was done.",
		Columns: columns("day", "batches_submitted", "jobs_completed", "jobs_failed", "files_downloaded", "bytes_downloaded", "files_processed")},
		func(r query.ThroughputRow) []any {
			return []any{r.Day.Format(time.DateOnly), r.BatchesSubmitted, r.JobsCompleted, r.JobsFailed, r.FilesDownloaded, r.BytesDownloaded, r.FilesProcessed}
		})
}

// States reports how long jobs and files stayed in each state, in the order of the workflow.
func States(in query.Range, at *AsOf, list []query.TimeInStateRow) Report {
	slices.SortStableFunc(list, func(a, b query.TimeInStateRow) int { return cmp.Compare(indexOf(a), indexOf(b)) })
	return sums(in, at, list, Table{Name: "states", Title: "Seconds in each state", None: "Nothing has left a state.",
		Columns: columns("kind", "status", "times", "p50", "p95", "p99", "longest")},
		func(r query.TimeInStateRow) []any {
			return []any{r.Kind, r.Status, r.Times, r.P50, r.P95, r.P99, r.Longest}
		})
}

// indexOf returns the index of a state in the workflow, first of jobs, then of files.
func indexOf(r query.TimeInStateRow) int {
	var all []string
	for _, s := range domain.JobStates {
		all = append(all, "job "+string(s))
	}
	for _, s := range domain.FileStates {
		all = append(all, "file "+string(s))
	}
	return slices.Index(all, r.Kind+" "+r.Status)
}

// Failures reports why attempts failed.
func Failures(in query.Range, at *AsOf, list []query.FailureRow) Report {
	return sums(in, at, list, Table{Name: "reasons", Title: "Reasons", None: "No attempt has failed.",
		Columns: columns("kind", "failed_in", "class", "code", "failures", "jobs", "unresolved", "last_failed_at", "last_message")},
		func(r query.FailureRow) []any {
			return []any{r.Kind, r.FailedIn, r.Class, r.Code, r.Failures, r.Jobs, r.Unresolved, r.LastFailedAt, r.LastMessage}
		})
}

// Submitters reports who deposited how much.
func Submitters(in query.Range, at *AsOf, list []query.SubmitterRow) Report {
	return sums(in, at, list, Table{Name: "submitters", Title: "Submitters", None: "There are no deposits.",
		Columns: columns("submitter", "batches", "batches_completed", "batches_failed", "jobs_listed", "jobs_completed", "jobs_failed", "jobs_held",
			"jobs_deleted", "jobs_in_progress", "files_listed", "bytes_downloaded", "first_submitted_at", "last_submitted_at")},
		func(r query.SubmitterRow) []any {
			return []any{r.Submitter, r.Batches, r.BatchesCompleted, r.BatchesFailed, r.JobsListed, r.JobsCompleted, r.JobsFailed, r.JobsHeld,
				r.JobsDeleted, r.JobsInProgress, r.FilesListed, r.BytesDownloaded, when(r.FirstSubmittedAt), when(r.LastSubmittedAt)}
		})
}

// Collections reports where the jobs of each collection stand.
func Collections(in query.Range, at *AsOf, list []query.CollectionRow) Report {
	return sums(in, at, list, Table{Name: "collections", Title: "Collections", None: "There are no jobs.",
		Columns: columns("collection", "status", "jobs", "files", "bytes", "oldest_since")},
		func(r query.CollectionRow) []any {
			return []any{r.Collection, r.Status, r.Jobs, r.Files, r.Bytes, when(r.OldestSince)}
		})
}

// Ingest reports what was stored within spans of time.
func Ingest(in query.Range, list []record.IngestRow) Report {
	return sums(in, nil, list, Table{Name: "ingest", Title: "What was stored (UTC)", None: "Nothing was stored.",
		Columns: columns("since", "collection", "owner", "media_type", "versions", "files", "bytes")},
		func(r record.IngestRow) []any {
			return []any{r.Since.UTC(), r.Collection, r.Owner, r.MediaType, r.Versions, r.Files, r.Bytes}
		})
}

// sums makes a report of one table, whose rows are few.
func sums[T any](in query.Range, at *AsOf, list []T, t Table, row func(T) []any) Report {
	t.Rows, t.Total = rowsOf(Each(list), row), int64(len(list))
	return Report{At: at, Facts: ranged(in), Tables: []Table{t}}
}

// Each returns a list as an iterator.
func Each[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range list {
			if !yield(item, nil) {
				return
			}
		}
	}
}
