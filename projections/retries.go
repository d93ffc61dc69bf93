package projections

import (
	"time"

	"github.com/accession-ingest/accession/domain"
)

// What became of a failed attempt.
const (
	OutcomeOpen        = "open"         // not decided yet
	OutcomeSucceeded   = "succeeded"    // the next attempt completed the job
	OutcomeFailedAgain = "failed_again" // the next attempt failed too
	OutcomeDeleted     = "deleted"      // the job was deleted
	OutcomeAbandoned   = "abandoned"    // its batch was deleted, and it with it
)

type attemptKey struct {
	job     domain.JobID
	attempt int
}

// retryRow is a new row, or what changes in one that an earlier transaction wrote
// (null = as it was).
type retryRow struct {
	JobID     domain.JobID    `json:"job_id"`
	Attempt   int             `json:"attempt"`
	BatchID   domain.BatchID  `json:"batch_id"`
	Status    domain.JobState `json:"status"`
	Class     domain.Class    `json:"class"`
	Code      domain.Code     `json:"code"`
	Message   string          `json:"message"`
	Worker    string          `json:"worker"`
	FailedAt  time.Time       `json:"failed_at"`
	ResumedAt *time.Time      `json:"resumed_at"`
	ResumedBy *string         `json:"resumed_by"`
	ResumedTo *string         `json:"resumed_to"`
	Outcome   *string         `json:"outcome"`

	isNew bool
}

// retries are the failed attempts that one transaction's events touch. A job's
// attempt that failed is retry_count + 1: each requeue counts one up.
type retries struct {
	byKey map[attemptKey]*retryRow
	order []*retryRow
}

func (t *retries) at(job domain.JobID, attempt int) *retryRow {
	key := attemptKey{job, attempt}
	row := t.byKey[key]
	if row == nil {
		row = &retryRow{JobID: job, Attempt: attempt}
		t.byKey[key] = row
		t.order = append(t.order, row)
	}
	return row
}

// fold keeps the attempts of a job that has come from one state to another.
func (t *retries) fold(r domain.Recorded, from domain.JobState, j domain.Job, batch domain.BatchState) {
	switch {
	case j.State == domain.JobFailed:
		t.ends(j, OutcomeFailedAgain)
		why := value(j.Reason)
		row := t.at(j.ID, j.RetryCount+1)
		row.isNew, row.BatchID, row.Status = true, j.Configuration.BatchID, from
		row.Class, row.Code, row.Message, row.Worker = why.Class, why.Code, why.Message, why.Worker
		row.FailedAt, row.Outcome = r.Time.Time, ptr(OutcomeOpen)
	case from == domain.JobFailed && j.State != domain.JobDeleted:
		row := t.at(j.ID, j.RetryCount)
		row.ResumedAt, row.ResumedBy, row.ResumedTo = timeOrNull(r.Time), ptr(string(r.Actor)), ptr(string(j.State))
	case j.State == domain.JobCompleted:
		t.ends(j, OutcomeSucceeded)
	case j.State == domain.JobDeleted && from != domain.JobCompleted:
		outcome := OutcomeDeleted
		if batch == domain.BatchDeleted {
			outcome = OutcomeAbandoned
		}
		if from == domain.JobFailed {
			t.at(j.ID, j.RetryCount+1).Outcome = &outcome
		} else {
			t.ends(j, outcome)
		}
	}
}

// ends settles the attempt that the job was requeued from, if it was.
func (t *retries) ends(j domain.Job, outcome string) {
	if j.RetryCount > 0 {
		t.at(j.ID, j.RetryCount).Outcome = &outcome
	}
}

// rows gives the new ones, or the changed ones.
func (t *retries) rows(isNew bool) []*retryRow {
	var rows []*retryRow
	for _, row := range t.order {
		if row.isNew == isNew {
			rows = append(rows, row)
		}
	}
	return rows
}
