package query

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/projections/internal/fold"
)

// Past folds events with the same code as the projector, into memory, so that readers
// can see what the tables would have shown after any of them. Events must be in order
// and complete for their aggregates; other aggregates are not found.
type Past struct {
	f      *fold.Fold
	states bool
	// warnings are those of the last event about each manifest that has some.
	warnings map[domain.Aggregate][]ManifestWarning
	metadata map[domain.BatchID]*domain.MetadataRecords
	// sees is what is counted of all, nil = everything.
	sees *access.Filter
}

// NewPast returns the state before the first event.
func NewPast() *Past {
	return &Past{f: fold.New(), warnings: map[domain.Aggregate][]ManifestWarning{}, metadata: map[domain.BatchID]*domain.MetadataRecords{}}
}

// NewPastStates is like NewPast, but the Past does not keep transitions, reports and
// warnings, which are many.
func NewPastStates() *Past { return &Past{f: fold.New(), states: true} }

// Limit has Failures, Submitters and Collections count only what a caller sees, nil = everything.
func (p *Past) Limit(sees *access.Filter) { p.sees = sees }

// counts reports whether what a submitter deposited in a collection is counted.
func (p *Past) counts(collection, submitter string) bool {
	return p.sees == nil || p.sees.Selects(collection, submitter)
}

// countsAttempt reports whether a failed attempt is counted: it belongs to whom its job or file does.
func (p *Past) countsAttempt(r Retry) bool {
	job, _ := p.f.Job(r.JobID)
	collection := job.Collection
	if r.Kind == string(domain.KindFile) {
		file, _ := p.f.File(r.RawFileHash)
		collection = cmp.Or(file.Collection, job.Collection)
	}
	return p.counts(collection, job.Submitter)
}

// Apply folds the next event.
func (p *Past) Apply(r domain.Recorded) error {
	err := p.f.ApplyState(r)
	switch {
	case p.states:
		p.f.DropTransitions()
	case err == nil:
		p.noteWarnings(r)
	}
	return err
}

// Summary returns the batch as report.batch_summary has it, or ErrNotFound.
func (p *Past) Summary(id domain.BatchID) (BatchSummary, error) {
	b, ok := p.f.Batch(string(id))
	if !ok || b.Version == 0 {
		return BatchSummary{}, wrap(string(id), ErrNotFound)
	}
	c := p.Counts(id.Aggregate())
	row := BatchSummary{
		BatchID: b.ID, Status: b.Status, Submitter: b.Submitter, ProfileName: b.ProfileName, Type: b.Type, ErcWhat: b.ErcWhat, FileName: b.FileName,
		RowsListed: b.RowsListed, JobsCompleted: b.JobsCompleted, JobsFailed: b.JobsFailed, JobsHeld: b.JobsHeld, JobsDeleted: b.JobsDeleted,
		JobsInProgress: b.JobsProcessing + max(orZero(b.RowsListed)-b.JobsCreated, 0), // as the table's generated column has it
		ReasonClass:    b.ReasonClass, ReasonCode: b.ReasonCode, ReasonMessage: b.ReasonMessage,
		SubmittedAt: b.SubmittedAt, StartedAt: b.StartedAt, ReportedAt: b.ReportedAt, Reports: b.Reports,
		FilesListed: c.FilesListed, FilesProcessed: c.FilesProcessed, FilesSkipped: c.FilesSkipped, FilesGivenUp: c.FilesGivenUp,
		FilesDeleted: c.FilesDeleted, FilesInProgress: c.FilesInProgress, BytesListed: c.BytesListed, BytesDownloaded: c.BytesDownloaded,
	}
	if b.ReportedAt != nil && b.SubmittedAt != nil {
		row.SecondsToReport = new(b.ReportedAt.Sub(*b.SubmittedAt).Seconds())
	}
	return row, nil
}

// Jobs returns all jobs in the order of their ids.
func (p *Past) Jobs() []JobRow {
	return slices.DeleteFunc(p.f.Jobs(), func(j JobRow) bool { return j.Version == 0 })
}

// Job returns one job, or ErrNotFound.
func (p *Past) Job(id domain.JobID) (JobRow, error) {
	row, ok := p.f.Job(string(id))
	if !ok || row.Version == 0 {
		return JobRow{}, wrap(string(id), ErrNotFound)
	}
	return row, nil
}

// Files returns all files in the order of their discovery.
func (p *Past) Files() []FileRow {
	rows := p.f.Files()
	slices.SortFunc(rows, func(a, b FileRow) int { return cmp.Compare(a.Seq, b.Seq) })
	return rows
}

// File returns one file, or ErrNotFound.
func (p *Past) File(id domain.FileHash) (FileRow, error) {
	row, ok := p.f.File(string(id))
	if !ok {
		return FileRow{}, wrap(id.Aggregate().String(), ErrNotFound)
	}
	return row, nil
}

// Counts counts the files of a job or a batch by state.
func (p *Past) Counts(of domain.Aggregate) FileCounts {
	if c, ok := p.f.FileCount(of.ID); ok {
		return c
	}
	return FileCounts{ID: of.ID}
}

// Transitions returns the changes of jobs' states in the order of the log.
func (p *Past) Transitions() []JobTransition {
	rows := slices.Clone(p.f.JobTransitions())
	for i := range rows {
		rows[i].Seconds = stay(rows[i].FromSince, rows[i].At)
	}
	return rows
}

// FileTransitions returns the changes of files' states in the order of the log.
func (p *Past) FileTransitions() []FileTransition {
	rows := slices.Clone(p.f.FileTransitions())
	for i := range rows {
		rows[i].Seconds = stay(rows[i].FromSince, rows[i].At)
	}
	return rows
}

// FileMoves returns the transitions of each file, one file after the other in the order
// of their discovery.
func (p *Past) FileMoves() []FileMove {
	transitions := p.FileTransitions()
	moves := make([]FileMove, 0, len(transitions))
	for _, t := range transitions {
		file, _ := p.f.File(t.RawFileHash)
		moves = append(moves, FileMove{file.Path, t, file.Seq})
	}
	slices.SortStableFunc(moves, func(a, b FileMove) int { return cmp.Compare(a.discovered, b.discovered) })
	return moves
}

// Reports returns the reports made about batches.
func (p *Past) Reports() []BatchReport { return slices.Clone(p.f.Reports()) }

// Retries returns failed attempts as report.retry_history has them: those of jobs or
// of files, in the order in which the tables' lists have them.
func (p *Past) Retries(kind domain.Kind) []Retry {
	var rows []Retry
	for _, r := range p.f.Retries() {
		if r.Kind == kind {
			rows = append(rows, p.retry(r))
		}
	}
	slices.SortStableFunc(rows, func(a, b Retry) int {
		return cmp.Or(cmp.Compare(a.JobID, b.JobID), cmp.Compare(a.RawFileHash, b.RawFileHash), cmp.Compare(a.Number, b.Number))
	})
	return rows
}

// retry adds to a failed attempt the columns that the view joins.
func (p *Past) retry(r *fold.Retry) Retry {
	row := Retry{
		BatchID: string(r.BatchID), JobID: string(r.JobID), Attempt: int64(r.Attempt), FailedIn: r.Status,
		Class: string(r.Class), Code: string(r.Code), Message: r.Message, Worker: r.Worker,
		FailedAt: r.FailedAt, ResumedAt: r.ResumedAt, ResumedBy: r.ResumedBy, ResumedTo: r.ResumedTo, Outcome: orZero(r.Outcome),
		Kind: string(r.Kind), RawFileHash: string(r.FileHash), Number: r.Number, TraceID: r.TraceID,
	}
	job, known := p.f.Job(string(r.JobID))
	if known {
		row.FileName, row.PayloadUrl = job.FileName, job.PayloadUrl
	}
	if r.Kind == domain.KindFile {
		if file, ok := p.f.File(string(r.FileHash)); ok {
			row.FileName, row.PayloadUrl = file.Path, file.Url
		}
		if (row.Outcome == fold.OutcomeOpen || row.Outcome == fold.OutcomeGivenUp) && job.Status == string(domain.JobDeleted) {
			row.Outcome = fold.OutcomeDeleted
		}
	}
	if r.ResumedAt != nil {
		row.SecondsWaiting = new(r.ResumedAt.Sub(r.FailedAt).Seconds())
	}
	return row
}

// stay returns the generated column seconds of a transition.
func stay(since *time.Time, at time.Time) *float64 {
	if since == nil {
		return new(0.0)
	}
	return new(max(at.Sub(*since).Seconds(), 0))
}

// AllRetries returns failed attempts of jobs and files in the order in which they
// failed.
func (p *Past) AllRetries() []Retry {
	rows := slices.Concat(p.Retries(domain.KindJob), p.Retries(domain.KindFile))
	slices.SortFunc(rows, func(a, b Retry) int {
		return cmp.Or(a.FailedAt.Compare(b.FailedAt), cmp.Compare(a.JobID, b.JobID), cmp.Compare(a.RawFileHash, b.RawFileHash), cmp.Compare(a.Number, b.Number))
	})
	return rows
}

// Failures returns why attempts failed, the most frequent first.
func (p *Past) Failures() []FailureRow {
	type key struct{ kind, failedIn, class, code string }
	sums, jobs := map[key]*FailureRow{}, map[key]map[string]bool{}
	for _, r := range p.AllRetries() {
		if !p.countsAttempt(r) {
			continue
		}
		k := key{r.Kind, r.FailedIn, r.Class, r.Code}
		s := sums[k]
		if s == nil {
			s = &FailureRow{Kind: r.Kind, FailedIn: r.FailedIn, Class: r.Class, Code: r.Code}
			sums[k], jobs[k] = s, map[string]bool{}
		}
		s.Failures++
		jobs[k][r.JobID] = true
		s.Jobs = int64(len(jobs[k]))
		if (r.Outcome == fold.OutcomeOpen || r.Outcome == fold.OutcomeGivenUp) && r.ResumedAt == nil {
			s.Unresolved++
		}
		if r.FailedAt.After(s.LastFailedAt) { // of several, that of the first job
			s.LastFailedAt, s.LastMessage = r.FailedAt, r.Message
		}
	}
	return slices.SortedFunc(each(maps.Values(sums)), func(a, b FailureRow) int {
		return cmp.Or(cmp.Compare(b.Failures, a.Failures), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.FailedIn, b.FailedIn), cmp.Compare(a.Code, b.Code))
	})
}

// Submitters counts batches by their submitters and states.
func (p *Past) Submitters() []SubmitterRow {
	sums := map[string]*SubmitterRow{}
	for _, row := range p.f.Batches() {
		b, err := p.Summary(domain.BatchID(row.ID))
		if err != nil || b.SubmittedAt == nil {
			continue // only its jobs are known
		}
		if !p.counts(row.Collection, row.Submitter) {
			continue
		}
		s := sums[b.Submitter]
		if s == nil {
			s = &SubmitterRow{Submitter: b.Submitter, FirstSubmittedAt: *b.SubmittedAt}
			sums[b.Submitter] = s
		}
		s.Batches++
		switch domain.BatchState(b.Status) {
		case domain.BatchCompleted:
			s.BatchesCompleted++
		case domain.BatchFailed:
			s.BatchesFailed++
		}
		s.JobsListed += orZero(b.RowsListed)
		s.JobsCompleted += b.JobsCompleted
		s.JobsFailed += b.JobsFailed
		s.JobsHeld += b.JobsHeld
		s.JobsDeleted += b.JobsDeleted
		s.JobsInProgress += b.JobsInProgress
		s.FilesListed += b.FilesListed
		s.BytesDownloaded += b.BytesDownloaded
		if b.SubmittedAt.Before(s.FirstSubmittedAt) {
			s.FirstSubmittedAt = *b.SubmittedAt
		}
		if b.SubmittedAt.After(s.LastSubmittedAt) {
			s.LastSubmittedAt = *b.SubmittedAt
		}
	}
	return slices.SortedFunc(each(maps.Values(sums)), func(a, b SubmitterRow) int { return cmp.Compare(a.Submitter, b.Submitter) })
}

// each returns the values of pointers.
func each[T any](pointers func(func(*T) bool)) func(func(T) bool) {
	return func(yield func(T) bool) {
		for p := range pointers {
			if !yield(*p) {
				return
			}
		}
	}
}

// orZero returns the zero value for null.
func orZero[T any](v *T) T {
	if v == nil {
		var zero T
		return zero
	}
	return *v
}

// Collections counts the jobs of each collection in each state.
func (p *Past) Collections() []CollectionRow {
	sums := map[[2]string]*CollectionRow{}
	for _, j := range p.Jobs() {
		if !p.counts(j.Collection, j.Submitter) {
			continue
		}
		c, since := sums[[2]string{j.Collection, j.Status}], orZero(j.StatusSince)
		if c == nil {
			c = &CollectionRow{Collection: j.Collection, Status: j.Status, OldestSince: since}
			sums[[2]string{j.Collection, j.Status}] = c
		}
		c.Jobs++
		c.Files += orZero(j.Files)
		c.Bytes += orZero(j.Bytes)
		if since.Before(c.OldestSince) {
			c.OldestSince = since
		}
	}
	rows := make([]CollectionRow, 0, len(sums))
	for _, c := range sums {
		rows = append(rows, *c)
	}
	sortCollections(rows)
	return rows
}
