package projections

import (
	"cmp"
	"slices"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// Past folds events with the same code as the projector, into memory, so that
// anybody can see what the tables would have shown behind any of them. Events must
// be in order and hold all of the aggregates they tell of; what is asked of others
// is not there.
type Past struct {
	f      *fold
	states bool
}

// NewPast stands before the first event.
func NewPast() *Past { return &Past{f: newFold()} }

// NewPastStates is a Past without changes of state and reports, which are many.
func NewPastStates() *Past { return &Past{f: newFold(), states: true} }

// Apply takes the next event.
func (p *Past) Apply(r domain.Recorded) error {
	p.f.touch(r)
	if err := p.f.models(r); err != nil {
		return &EventError{Seq: r.Seq, ID: r.ID(), Type: r.Type, Err: err}
	}
	if p.states {
		p.f.transitions, p.f.fileTransitions, p.f.reports = p.f.transitions[:0], p.f.fileTransitions[:0], p.f.reports[:0]
	}
	return nil
}

// Summary gives the batch as report.batch_summary has it, or ErrNotFound.
func (p *Past) Summary(id domain.BatchID) (BatchSummary, error) {
	s := p.f.batches[string(id)]
	if s == nil || s.Version == 0 {
		return BatchSummary{}, wrap(string(id), ErrNotFound)
	}
	b, c := s.columns(), p.Counts(id.Aggregate())
	row := BatchSummary{
		BatchID: b.ID, Status: b.Status, Submitter: b.Submitter, ProfileName: b.ProfileName, Type: b.Type, ErcWhat: b.ErcWhat, FileName: b.FileName,
		RowsListed: b.RowsListed, JobsCompleted: b.JobsCompleted, JobsFailed: b.JobsFailed, JobsHeld: b.JobsHeld, JobsDeleted: b.JobsDeleted,
		JobsInProgress: b.JobsProcessing + max(value(b.RowsListed)-b.JobsCreated, 0), // as the table's generated column has it
		ReasonClass:    b.ReasonClass, ReasonCode: b.ReasonCode, ReasonMessage: b.ReasonMessage,
		SubmittedAt: b.SubmittedAt, StartedAt: b.StartedAt, ReportedAt: b.ReportedAt, Reports: b.Reports,
		FilesListed: c.FilesListed, FilesProcessed: c.FilesProcessed, FilesSkipped: c.FilesSkipped, FilesGivenUp: c.FilesGivenUp,
		FilesDeleted: c.FilesDeleted, FilesInProgress: c.FilesInProgress, BytesListed: c.BytesListed, BytesDownloaded: c.BytesDownloaded,
	}
	if b.ReportedAt != nil && b.SubmittedAt != nil {
		row.SecondsToReport = ptr(b.ReportedAt.Sub(*b.SubmittedAt).Seconds())
	}
	return row, nil
}

// Jobs gives all jobs in the order of their ids.
func (p *Past) Jobs() []JobRow {
	rows := columnsOfAll(p.f.jobs)
	return slices.DeleteFunc(rows, func(j JobRow) bool { return j.Version == 0 })
}

// Job gives one job, or ErrNotFound.
func (p *Past) Job(id domain.JobID) (JobRow, error) {
	s := p.f.jobs[string(id)]
	if s == nil || s.Version == 0 {
		return JobRow{}, wrap(string(id), ErrNotFound)
	}
	return s.columns(), nil
}

// Files gives all files in the order of their discovery.
func (p *Past) Files() []FileRow {
	rows := columnsOfAll(p.f.files)
	slices.SortFunc(rows, func(a, b FileRow) int { return cmp.Compare(a.Seq, b.Seq) })
	return rows
}

// File gives one file, or ErrNotFound.
func (p *Past) File(id domain.FileHash) (FileRow, error) {
	s := p.f.files[string(id)]
	if s == nil {
		return FileRow{}, wrap(id.Aggregate().String(), ErrNotFound)
	}
	return s.columns(), nil
}

// Counts tells how many files of a job or a batch stand where.
func (p *Past) Counts(of domain.Aggregate) FileCounts {
	if c := p.f.counts[of.ID]; c != nil {
		return c.columns()
	}
	return FileCounts{ID: of.ID}
}

// Transitions gives the changes of jobs' states in the order of the log.
func (p *Past) Transitions() []JobTransition {
	rows := slices.Clone(p.f.transitions)
	for i := range rows {
		rows[i].Seconds = stay(rows[i].FromSince, rows[i].At)
	}
	return rows
}

// FileTransitions gives the changes of files' states in the order of the log.
func (p *Past) FileTransitions() []FileTransition {
	rows := slices.Clone(p.f.fileTransitions)
	for i := range rows {
		rows[i].Seconds = stay(rows[i].FromSince, rows[i].At)
	}
	return rows
}

// FileMoves gives the life of each file, one file after the other in the order of
// their discovery.
func (p *Past) FileMoves() []FileMove {
	moves := make([]FileMove, 0, len(p.f.fileTransitions))
	for _, t := range p.FileTransitions() {
		s := p.f.files[t.RawFileHash]
		moves = append(moves, FileMove{s.Spec.Path, t, s.row.Seq})
	}
	slices.SortStableFunc(moves, func(a, b FileMove) int { return cmp.Compare(a.discovered, b.discovered) })
	return moves
}

// Reports gives the reports made about batches.
func (p *Past) Reports() []BatchReport { return slices.Clone(p.f.reports) }

// Retries gives failed attempts as report.retry_history has them: those of jobs or
// of files, in the order in which the tables' lists have them.
func (p *Past) Retries(kind domain.Kind) []Retry {
	var rows []Retry
	for _, r := range p.f.retries.order {
		if r.Kind == kind {
			rows = append(rows, p.retry(r))
		}
	}
	slices.SortStableFunc(rows, func(a, b Retry) int {
		return cmp.Or(cmp.Compare(a.JobID, b.JobID), cmp.Compare(a.RawFileHash, b.RawFileHash), cmp.Compare(a.Number, b.Number))
	})
	return rows
}

// retry joins what the view joins.
func (p *Past) retry(r *retryRow) Retry {
	row := Retry{
		BatchID: string(r.BatchID), JobID: string(r.JobID), Attempt: int64(r.Attempt), FailedIn: r.Status,
		Class: string(r.Class), Code: string(r.Code), Message: r.Message, Worker: r.Worker,
		FailedAt: r.FailedAt, ResumedAt: r.ResumedAt, ResumedBy: r.ResumedBy, ResumedTo: r.ResumedTo, Outcome: value(r.Outcome),
		Kind: string(r.Kind), RawFileHash: string(r.FileHash), Number: r.Number, TraceID: r.TraceID,
	}
	job, file := p.f.jobs[string(r.JobID)], p.f.files[string(r.FileHash)]
	if job != nil {
		row.FileName, row.PayloadUrl = job.Configuration.FileName, job.Configuration.PayloadURL
	}
	if r.Kind == domain.KindFile {
		if file != nil {
			row.FileName, row.PayloadUrl = file.Spec.Path, file.Spec.URL
		}
		if (row.Outcome == OutcomeOpen || row.Outcome == OutcomeGivenUp) && job != nil && job.State == domain.JobDeleted {
			row.Outcome = OutcomeDeleted
		}
	}
	if r.ResumedAt != nil {
		row.SecondsWaiting = ptr(r.ResumedAt.Sub(r.FailedAt).Seconds())
	}
	return row
}

// stay is the generated column seconds of the transitions.
func stay(since *time.Time, at time.Time) *float64 {
	if since == nil {
		return ptr(0.0)
	}
	return ptr(max(at.Sub(*since).Seconds(), 0))
}
