package fold

import (
	"time"

	"github.com/accession-ingest/accession/domain"
)

// fileRetries keeps the failed attempts of a file that has come from one state to
// another. A failure stays open until something succeeds, fails again or gives up;
// the file remembers which one is.
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
		row.FailedAt, row.Outcome, row.TraceID = at, ptr(OutcomeOpen), traceOrNull(r)
		s.row.OpenFailure = &r.Version
	case domain.FileIgnore, domain.FileAbandoned:
		settle(OutcomeGivenUp)
	case domain.FileDownloaded, domain.FileProcessed:
		if from == domain.FileSkipped {
			return // taken up again: nothing had failed
		}
		settle(OutcomeSucceeded)
		s.row.OpenFailure = nil
	case domain.FileDiscovered, domain.FileReady, domain.FileDownloading:
		if last == nil || from != domain.FileDownloadingFailed && from != domain.FileProcessingFailed && !from.Terminal() {
			return
		}
		last.ResumedAt, last.ResumedBy, last.ResumedTo = &at, ptr(string(r.Actor)), ptr(string(s.State))
		settle(OutcomeOpen) // what was given up is not any more
	}
}

// ofFile finds or begins the row of the failure that the file's event number
// tells of.
func (t *retries) ofFile(f domain.File, number int64) *Retry {
	return t.row(Retry{Kind: domain.KindFile, JobID: f.Spec.JobID, FileHash: f.Hash, Number: number})
}
