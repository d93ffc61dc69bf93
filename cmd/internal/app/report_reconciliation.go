package app

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// reportReconciliation follows each name that a deposit lists to where it ended.
// What is recorded is asked of the inventory; as of a moment, of the jobs' own
// history, since the inventory only knows the present.
func (a *App) reportReconciliation(ctx context.Context, o ReportOptions) (Report, error) {
	s, err := a.batchSource(ctx, o)
	if err != nil {
		return Report{}, err
	}
	var inventory *record.Records
	if s.at == nil {
		if inventory, err = a.Open.Records(ctx); err != nil {
			s.tables.Close(ctx)
			return Report{}, err
		}
	}
	m := &matching{tables: s.tables, ctx: ctx, inventory: inventory}
	if s.at != nil {
		if err := m.remember(s); err != nil {
			return Report{}, err
		}
	}
	return Report{At: s.at, Facts: adding(s.summary), end: s.end(ctx), Tables: []Table{
		{Name: "objects", Title: "Objects", None: "The deposit lists no object, or has not been read yet.", Total: max(s.nJobs, value(s.summary.RowsListed)),
			Columns: columns("job_id", "what", "listed", "downloaded", "stored", "recorded", "result", "explanation"),
			Rows:    m.objects(s)},
		{Name: "files", Title: "Files", None: "No file is known yet.", Total: s.summary.FilesListed,
			Columns: columns("job_id", "path", "listed", "downloaded", "stored", "recorded", "result", "explanation"),
			Rows:    m.files(s)},
	}}, nil
}

// matching finds for each name what came of it.
type matching struct {
	tables    *query.Snapshot
	ctx       context.Context //nolint:containedctx // the rows are read while they are written, within one call
	inventory *record.Records // nil = as of a moment, and then all jobs and failures are here:
	jobs      map[string]JobRow
	failures  map[string]string
}

// remember keeps what a batch had at a moment, which is in memory anyhow.
func (m *matching) remember(s batchSource) error {
	m.jobs, m.failures = map[string]JobRow{}, map[string]string{}
	for j, err := range s.jobs {
		if err != nil {
			return err
		}
		m.jobs[j.ID] = j
	}
	for r, err := range s.retries {
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

func (m *matching) objects(s batchSource) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		rows := int64(0)
		for page, err := range chunks(s.jobs) {
			var recorded map[domain.JobID]int64
			if err == nil && m.inventory != nil {
				recorded, err = m.inventory.RecordedJobs(m.ctx, names(page, func(j JobRow) string { return j.ID }))
			}
			if err != nil {
				yield(nil, explain("read the report's rows", err))
				return
			}
			for _, j := range page {
				// Jobs come by id, and so by row: what is left out between two is held.
				for ; rows < j.ManifestRow; rows++ {
					if !yield(noJob(rows, "its job is not in the tables yet: `accession poison ls` lists the events that are held"), nil) {
						return
					}
				}
				rows = max(rows, j.ManifestRow+1)
				_, has := recorded[domain.JobID(j.ID)]
				has = has || m.inventory == nil && given(j)
				result, why := objectResult(j, has)
				if !yield([]any{j.ID, jobName(j), true, fetched(j), j.ObjectVersion != nil, has, result, why}, nil) {
					return
				}
			}
		}
		for ; rows < value(s.summary.RowsListed); rows++ {
			if !yield(noJob(rows, "its job is not made yet, or not in the tables"), nil) {
				return
			}
		}
	}
}

// noJob is a row of the deposit of which the tables have no job.
func noJob(row int64, why string) []any {
	return []any{"", fmt.Sprintf("row %d", row+1), true, false, false, false, resultProgress, why}
}

// objectResult tells where an object ended, and why it is not where it should be.
func objectResult(j JobRow, recorded bool) (result, why string) {
	reason := ""
	if j.ReasonCode != nil {
		reason = ": " + *j.ReasonCode + ": " + value(j.ReasonMessage)
	}
	switch domain.JobState(j.Status) {
	case domain.JobCompleted:
		if !recorded {
			return resultDone, "the job completed, but the inventory does not have the object: ask the operators"
		}
		return resultDone, ""
	case domain.JobFailed:
		return resultFailed, "the job failed" + reason
	case domain.JobHeld:
		return resultHeld, "the job is held" + reason
	case domain.JobDeleted:
		return resultDeleted, "the job was deleted" + reason
	default:
		return resultProgress, "the job is " + j.Status + reason
	}
}

// fetched reports whether a job has gone past its downloads.
func fetched(j JobRow) bool {
	return slices.Contains([]string{string(domain.JobDownloading), string(domain.JobProcessing), string(domain.JobRecording), string(domain.JobNotify)},
		value(j.LastSuccessfulStatus))
}

func (m *matching) files(s batchSource) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for page, err := range chunks(s.files) {
			var about surroundings
			if err == nil {
				about, err = m.around(page)
			}
			if err != nil {
				yield(nil, explain("read the report's rows", err))
				return
			}
			for _, f := range page {
				j := about.jobs[f.JobID]
				sha, has := about.recorded[record.RecordedFile{Job: domain.JobID(f.JobID), Name: f.Path}]
				if m.inventory == nil && f.Status == string(domain.FileProcessed) && given(j) {
					sha, has = f.Sha256, true
				}
				result, why := fileResult(f, j, about.failures[f.RawFileHash], has, sha)
				if !yield([]any{f.JobID, f.Path, true, f.Sha256 != "", f.Status == string(domain.FileProcessed), has, result, why}, nil) {
					return
				}
			}
		}
	}
}

// surroundings are what explains where files are: their jobs, what the inventory
// has of them, and why they failed last.
type surroundings struct {
	jobs     map[string]JobRow
	recorded map[record.RecordedFile]string
	failures map[string]string
}

func (m *matching) around(page []FileRow) (about surroundings, err error) {
	if m.inventory == nil {
		return surroundings{jobs: m.jobs, failures: m.failures}, nil
	}
	ids := slices.Compact(slices.Sorted(slices.Values(names(page, func(f FileRow) string { return f.JobID }))))
	if about.recorded, err = m.inventory.RecordedFiles(m.ctx, ids, names(page, func(f FileRow) string { return f.Path })); err != nil {
		return about, err
	}
	if about.failures, err = query.LastFailures(m.ctx, m.tables, names(page, func(f FileRow) string { return f.RawFileHash })); err != nil {
		return about, err
	}
	list, err := query.JobsByID(m.ctx, m.tables, ids)
	about.jobs = make(map[string]JobRow, len(list))
	for _, j := range list {
		about.jobs[j.ID] = j
	}
	return about, err
}

// fileResult tells where a file ended, as its batch adds up, and explains every
// difference between what was listed and what is recorded.
func fileResult(f FileRow, j JobRow, failure string, recorded bool, sha string) (result, why string) {
	reason := ""
	switch {
	case f.ReasonCode != nil && *f.ReasonCode == string(domain.CodeAttemptsUsedUp) && failure != "":
		reason = ": " + failure // why the last attempt failed says more
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

// chunks gives what is read in lists of matchPage.
func chunks[T any](items iter.Seq2[T, error]) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		page := make([]T, 0, matchPage)
		for item, err := range items {
			if err != nil {
				yield(nil, err)
				return
			}
			if page = append(page, item); len(page) == matchPage {
				if !yield(page, nil) {
					return
				}
				page = page[:0]
			}
		}
		if len(page) > 0 {
			yield(page, nil)
		}
	}
}

func names[T any](list []T, name func(T) string) []string {
	all := make([]string, len(list))
	for i, item := range list {
		all[i] = name(item)
	}
	return all
}

// value gives the zero value for nil.
func value[T any](v *T) (zero T) {
	if v == nil {
		return zero
	}
	return *v
}
