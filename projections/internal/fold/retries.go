package fold

import (
	"time"

	"github.com/accession-ingest/accession/domain"
)

// Outcomes of a failed attempt.
const (
	OutcomeOpen        = "open"         // not decided yet
	OutcomeSucceeded   = "succeeded"    // the next attempt completed the job, or its step of the file
	OutcomeFailedAgain = "failed_again" // the next attempt failed too
	OutcomeGivenUp     = "given_up"     // of a file: no attempt was left
	OutcomeDeleted     = "deleted"      // the job was deleted
	OutcomeAbandoned   = "abandoned"    // its batch was deleted, and it with it
)

// attemptKey identifies a failure: those of a job by the attempt, those of a file
// by the number of its event.
type attemptKey struct {
	job    domain.JobID
	file   domain.FileHash
	number int64
}

// Retry is a new row, or what changes in one that an earlier transaction wrote
// (null = as it was).
type Retry struct {
	Kind      domain.Kind     `json:"kind"`
	JobID     domain.JobID    `json:"job_id"`
	FileHash  domain.FileHash `json:"raw_file_hash"`
	Number    int64           `json:"number"`
	Attempt   int             `json:"attempt"`
	BatchID   domain.BatchID  `json:"batch_id"`
	Status    string          `json:"status"`
	Class     domain.Class    `json:"class"`
	Code      domain.Code     `json:"code"`
	Message   string          `json:"message"`
	Worker    string          `json:"worker"`
	FailedAt  time.Time       `json:"failed_at"`
	ResumedAt *time.Time      `json:"resumed_at"`
	ResumedBy *string         `json:"resumed_by"`
	ResumedTo *string         `json:"resumed_to"`
	Outcome   *string         `json:"outcome"`
	TraceID   *string         `json:"trace_id"`
	Host      string          `json:"host"`
	WhoActs   domain.Acting   `json:"who_acts"`
	Uncounted bool            `json:"uncounted"`

	isNew bool
}

// retries are the failed attempts that one transaction's events touch. A job's
// attempt that failed is retry_count + 1: each requeue counts one up. For those of
// files see [Fold.fileRetries].
type retries struct {
	byKey map[attemptKey]*Retry
	order []*Retry
}

func (t *retries) at(job domain.JobID, attempt int) *Retry {
	return t.row(Retry{Kind: domain.KindJob, JobID: job, Number: int64(attempt), Attempt: attempt})
}

// row returns the row of an attempt, which it adds if there is none.
func (t *retries) row(fresh Retry) *Retry {
	key := attemptKey{fresh.JobID, fresh.FileHash, fresh.Number}
	row := t.byKey[key]
	if row == nil {
		row = &fresh
		t.byKey[key] = row
		t.order = append(t.order, row)
	}
	return row
}

// fold updates the attempts of a job after a transition. batch is the state of its
// batch in the tables, which may be behind or ahead if the events of one of them were
// held.
func (t *retries) fold(r domain.Recorded, from domain.JobState, j domain.Job, batch domain.BatchState) {
	switch {
	case j.State == domain.JobFailed:
		t.ends(j, OutcomeFailedAgain)
		why := value(j.Reason)
		row := t.at(j.ID, j.RetryCount+1)
		row.isNew, row.BatchID, row.Status = true, j.Configuration.BatchID, string(from)
		row.Class, row.Code, row.Message, row.Worker = why.Class, why.Code, why.Message, why.Worker
		row.Host, row.WhoActs = why.Host, why.WhoActs
		row.FailedAt, row.Outcome, row.TraceID = r.Time.Time, new(OutcomeOpen), traceOrNull(r)
	case from == domain.JobFailed && j.State != domain.JobDeleted:
		row := t.at(j.ID, j.RetryCount)
		row.ResumedAt, row.ResumedBy, row.ResumedTo = timeOrNull(r.Time), new(string(r.Actor)), new(string(j.State))
	case j.State == domain.JobCompleted:
		t.ends(j, OutcomeSucceeded)
	case j.State == domain.JobDeleted && from != domain.JobCompleted:
		outcome := OutcomeDeleted
		if withBatch(r, batch) {
			outcome = OutcomeAbandoned
		}
		if from == domain.JobFailed {
			t.at(j.ID, j.RetryCount+1).Outcome = &outcome
		} else {
			t.ends(j, outcome)
		}
	}
}

// withBatch reports whether a job was deleted with its batch. Its event says so; for
// events of programs that did not record it, the batch's present state decides.
func withBatch(r domain.Recorded, batch domain.BatchState) bool {
	if d, ok := r.Data.(*domain.JobDeletion); ok && d.WithBatch != nil {
		return *d.WithBatch
	}
	return batch == domain.BatchDeleted
}

// traceOrNull returns the trace of an event, nil = none.
func traceOrNull(r domain.Recorded) *string {
	if id := domain.TraceID(r.TraceParent); id != "" {
		return &id
	}
	return nil
}

// ends settles the attempt that the job was requeued from, if it was.
func (t *retries) ends(j domain.Job, outcome string) {
	if j.RetryCount > 0 {
		t.at(j.ID, j.RetryCount).Outcome = &outcome
	}
}

// rows returns the new ones, or the changed ones.
func (t *retries) rows(isNew bool) []*Retry {
	var rows []*Retry
	for _, row := range t.order {
		if row.isNew == isNew {
			rows = append(rows, row)
		}
	}
	return rows
}

// fileRetries updates the failed attempts of a file after a transition. A failure stays
// open until the next attempt succeeds or fails, or the file is given up; the state of
// the file names the open one.
func (f *Fold) fileRetries(r domain.Recorded, from domain.FileState, s *fileState, at time.Time) {
	var last *Retry
	if n := s.row.OpenFailure; n != nil {
		last = f.retries.ofFile(s.File, *n)
	}
	settle := func(outcome string) {
		if last != nil {
			last.Outcome = &outcome
		}
	}
	switch s.State {
	case domain.FileDownloadingFailed, domain.FileProcessingFailed:
		settle(OutcomeFailedAgain)
		why := value(s.Reason)
		row := f.retries.ofFile(s.File, r.Version)
		row.isNew, row.BatchID, row.Status, row.Attempt = true, s.Spec.BatchID, string(from), why.Attempt
		row.Class, row.Code, row.Message, row.Worker = why.Class, why.Code, why.Message, why.Worker
		row.Host, row.WhoActs = why.Host, why.WhoActs
		row.FailedAt, row.Outcome, row.TraceID = at, new(OutcomeOpen), traceOrNull(r)
		if d, ok := r.Data.(*domain.FileFailed); ok {
			row.Uncounted = d.Uncounted
		}
		s.row.OpenFailure = new(r.Version)
	case domain.FileIgnore, domain.FileAbandoned:
		settle(OutcomeGivenUp)
	case domain.FileDownloaded, domain.FileProcessed:
		if from == domain.FileSkipped {
			return // reopened: nothing had failed
		}
		settle(OutcomeSucceeded)
		s.row.OpenFailure = nil
	case domain.FileDiscovered, domain.FileReady, domain.FileDownloading:
		if last == nil || from != domain.FileDownloadingFailed && from != domain.FileProcessingFailed && !from.Terminal() {
			return
		}
		last.ResumedAt, last.ResumedBy, last.ResumedTo = new(at), new(string(r.Actor)), new(string(s.State))
		settle(OutcomeOpen) // the file is no longer given up
	}
}

// ofFile returns the row of the failure that an event of the file recorded, which it
// adds if there is none.
func (t *retries) ofFile(f domain.File, number int64) *Retry {
	return t.row(Retry{Kind: domain.KindFile, JobID: f.Spec.JobID, FileHash: f.Hash, Number: number})
}
