package report

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// Reconciliation reports the result for each name that a deposit lists. Whether an object
// is recorded is read from the inventory or, as of a moment, from the history of its job,
// since the inventory only has the present.
func Reconciliation(ctx context.Context, s Source, inventory *record.Records) (Report, error) {
	m := &matching{tables: s.Tables, ctx: ctx}
	if s.At == nil {
		m.inventory = inventory
	} else if err := m.loadPast(s); err != nil {
		return Report{}, err
	}
	return Report{At: s.At, Facts: batchFacts(s.Summary), end: s.end(ctx), Tables: []Table{
		{Name: "objects", Title: "Objects", None: "The deposit lists no object, or has not been read yet.", Total: max(s.NJobs, value(s.Summary.RowsListed)),
			Columns: columns("job_id", "what", "listed", "downloaded", "stored", "recorded", "result", "explanation"),
			Rows:    m.objects(s)},
		{Name: "files", Title: "Files", None: "No file is known yet.", Total: s.Summary.FilesListed,
			Columns: columns("job_id", "path", "listed", "downloaded", "stored", "recorded", "result", "explanation"),
			Rows:    m.files(s)},
	}}, nil
}

// matching finds the result for each name.
type matching struct {
	tables    *query.Snapshot
	ctx       context.Context //nolint:containedctx // the rows are read while they are written, within one call
	inventory *record.Records // nil = as of a moment, and then all jobs and failures are here:
	jobs      map[string]query.JobRow
	failures  map[string]string
}

// loadPast reads the jobs and failures of a batch as of a moment, which are in memory
// anyway.
func (m *matching) loadPast(s Source) error {
	m.jobs, m.failures = map[string]query.JobRow{}, map[string]string{}
	for j, err := range s.Jobs {
		if err != nil {
			return err
		}
		m.jobs[j.ID] = j
	}
	for r, err := range s.Retries {
		if err != nil {
			return err
		}
		m.failures[r.RawFileHash] = r.Code + ": " + r.Message
	}
	return nil
}

// matchPage is how many names are looked up at once.
const matchPage = 500

// Results, as a batch adds up.
const (
	resultDone     = "done"
	resultFailed   = "failed"
	resultHeld     = "held"
	resultDeleted  = "deleted"
	resultSkipped  = "skipped"
	resultGivenUp  = "given up"
	resultProgress = "in progress"
)

func (m *matching) objects(s Source) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		row, listed := int64(0), value(s.Summary.RowsListed)
		for job, err := range byPage(s.Jobs, func(page []query.JobRow) (list [][]any, err error) {
			var recorded map[domain.JobID]int64
			if m.inventory != nil {
				recorded, err = m.inventory.RecordedJobs(m.ctx, fieldsOf(page, func(j query.JobRow) string { return j.ID }))
			}
			for _, j := range page {
				// Jobs come by id, and so by row: what is missing between two is held.
				for ; row < j.ManifestRow; row++ {
					list = append(list, noJob(row, "its job is not in the tables yet: `accession poison ls` lists the events that are held"))
				}
				row = max(row, j.ManifestRow+1)
				_, has := recorded[domain.JobID(j.ID)]
				has = has || m.inventory == nil && isRecorded(j)
				result, why := objectResult(j, has)
				list = append(list, []any{j.ID, jobName(j), true, fetched(j), j.ObjectVersion != nil, has, result, why})
			}
			return list, err
		}) {
			if !yield(job, err) || err != nil {
				return
			}
		}
		for ; row < listed; row++ {
			if !yield(noJob(row, "its job is not made yet, or not in the tables"), nil) {
				return
			}
		}
	}
}

// noJob is a row of the deposit of which the tables have no job.
func noJob(row int64, why string) []any {
	return []any{"", fmt.Sprintf("row %d", row+1), true, false, false, false, resultProgress, why}
}

// objectResults are the results of objects whose jobs have ended, and why.
var objectResults = map[domain.JobState][2]string{
	domain.JobFailed:  {resultFailed, "the job failed"},
	domain.JobHeld:    {resultHeld, "the job is held"},
	domain.JobDeleted: {resultDeleted, "the job was deleted"},
}

// objectResult returns the result for an object, and why it is not the expected one.
func objectResult(j query.JobRow, recorded bool) (result, why string) {
	reason := ""
	if j.ReasonCode != nil {
		reason = ": " + *j.ReasonCode + ": " + value(j.ReasonMessage)
	}
	state := domain.JobState(j.Status)
	if r, ended := objectResults[state]; ended {
		return r[0], r[1] + reason
	}
	switch {
	case state != domain.JobCompleted:
		return resultProgress, "the job is " + j.Status + reason
	case !recorded:
		return resultDone, "the job completed, but the inventory does not have the object: ask the operators"
	}
	return resultDone, ""
}

// fetched reports whether a job has completed its downloads.
func fetched(j query.JobRow) bool {
	return slices.Contains([]string{string(domain.JobDownloading), string(domain.JobProcessing), string(domain.JobRecording), string(domain.JobNotify)},
		value(j.LastSuccessfulStatus))
}

func (m *matching) files(s Source) iter.Seq2[[]any, error] {
	return byPage(s.Files, func(page []query.FileRow) (list [][]any, err error) {
		about, err := m.contextOf(page)
		for _, f := range page {
			j := about.jobs[f.JobID]
			sha, has := about.recorded[record.RecordedFile{Job: domain.JobID(f.JobID), Name: f.Path}]
			if m.inventory == nil && f.Status == string(domain.FileProcessed) && isRecorded(j) {
				sha, has = f.Sha256, true
			}
			result, why := fileResult(f, j, about.failures[f.RawFileHash], has, sha)
			list = append(list, []any{f.JobID, f.Path, true, f.Sha256 != "", f.Status == string(domain.FileProcessed), has, result, why})
		}
		return list, err
	})
}

// fileContext is what explains the results of some files: their jobs, their entries in
// the inventory, and why they failed last.
type fileContext struct {
	jobs     map[string]query.JobRow
	recorded map[record.RecordedFile]string
	failures map[string]string
}

// contextOf reads what explains the results of a page of files.
func (m *matching) contextOf(page []query.FileRow) (about fileContext, err error) {
	if m.inventory == nil {
		return fileContext{jobs: m.jobs, failures: m.failures}, nil
	}
	ids := slices.Compact(slices.Sorted(slices.Values(fieldsOf(page, func(f query.FileRow) string { return f.JobID }))))
	if about.recorded, err = m.inventory.RecordedFiles(m.ctx, ids, fieldsOf(page, func(f query.FileRow) string { return f.Path })); err != nil {
		return about, err
	}
	if about.failures, err = query.LastFailures(m.ctx, m.tables, fieldsOf(page, func(f query.FileRow) string { return f.RawFileHash })); err != nil {
		return about, err
	}
	list, err := query.JobsByID(m.ctx, m.tables, ids)
	about.jobs = make(map[string]query.JobRow, len(list))
	for _, j := range list {
		about.jobs[j.ID] = j
	}
	return about, err
}

// fileResult returns the result for a file, as its batch adds up, and explains every
// difference between what was listed and what is recorded.
func fileResult(f query.FileRow, j query.JobRow, failure string, recorded bool, sha string) (result, why string) {
	reason := ""
	switch {
	case f.ReasonCode != nil && *f.ReasonCode == string(domain.CodeAttemptsUsedUp) && failure != "":
		reason = ": " + failure // the failure of the last attempt says more
	case f.ReasonCode != nil:
		reason = ": " + *f.ReasonCode + ": " + value(f.ReasonMessage)
	}
	if j.Status == string(domain.JobDeleted) {
		_, why := objectResult(j, recorded)
		return resultDeleted, why
	}
	switch state := domain.FileState(f.Status); {
	case state == domain.FileProcessed && recorded && sha != f.Sha256:
		return resultDone, "the inventory has another content (" + sha + ") than was downloaded (" + f.Sha256 + "): ask the operators"
	case state == domain.FileProcessed && recorded:
		return resultDone, ""
	case state == domain.FileProcessed:
		_, why := objectResult(j, true)
		if why == "" {
			why = "its object is complete without it: ask the operators"
		}
		return resultDone, "it is stored, and not recorded: " + why
	case state == domain.FileSkipped:
		return resultSkipped, "it was left out" + reason
	case state == domain.FileIgnore:
		return resultGivenUp, fmt.Sprintf("given up after %d downloads%s", f.DownloadAttempts, reason)
	case state == domain.FileAbandoned:
		return resultGivenUp, fmt.Sprintf("given up after %d attempts to process it%s", f.ProcessingAttempts, reason)
	}
	why = "it is " + f.Status + reason
	if j.Status == string(domain.JobFailed) {
		_, failed := objectResult(j, recorded)
		why += "; " + failed
	}
	return resultProgress, why
}

// byPage converts items to rows, matchPage items at a time.
func byPage[T any](items iter.Seq2[T, error], rows func(page []T) ([][]any, error)) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		page := make([]T, 0, matchPage)
		flush := func() (more bool) {
			list, err := rows(page)
			if page = page[:0]; err != nil {
				yield(nil, err)
				return false
			}
			for _, row := range list {
				if !yield(row, nil) {
					return false
				}
			}
			return true
		}
		for item, err := range items {
			if err != nil {
				yield(nil, err)
				return
			}
			if page = append(page, item); len(page) == matchPage && !flush() {
				return
			}
		}
		if len(page) > 0 {
			flush()
		}
	}
}

// fieldsOf returns a field of each item.
func fieldsOf[T any](list []T, field func(T) string) []string {
	all := make([]string, len(list))
	for i, item := range list {
		all[i] = field(item)
	}
	return all
}

// value returns the value, or the zero value for nil.
func value[T any](v *T) (zero T) {
	if v == nil {
		return zero
	}
	return *v
}
