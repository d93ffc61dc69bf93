package sweep

import (
	"context"

	"github.com/accession-ingest/accession/domain"
)

// Net is what candidates are caught with: those in it may be overdue, all others
// are not.
type Net struct {
	// A running attempt is in the net when it began before this.
	DownloadBefore, ProcessingBefore domain.Time
	// A failed file that belongs to no job is in the net when it waits to be
	// processed again, or when so many downloads of it have begun. Those of jobs are
	// looked after by the job's daemon, which knows whose fault the failures were.
	DownloadAttempts int
}

// Candidate is a file that may be overdue, as the tables show it.
type Candidate struct {
	Hash     domain.FileHash
	State    domain.FileState
	Attempts int         // of the step that it is in
	Since    domain.Time // the log's time of the attempt's beginning, or of its failure
	JobID    domain.JobID
	Profile  string // of its job, "" = it belongs to none
}

// Finder finds candidates.
type Finder interface {
	// Candidates gives up to limit files in the net whose hash comes after the one
	// given, in the order of their hashes.
	Candidates(ctx context.Context, net Net, after domain.FileHash, limit int) ([]Candidate, error)
}

// command says what is to be done about a candidate now, by its own limits; nil =
// nothing.
func (c Candidate) command(now domain.Time, l domain.FileLimits) domain.FileCommand {
	step := l.Download
	if c.State == domain.FileProcessing || c.State == domain.FileProcessingFailed {
		step = l.Processing
	}
	overdue := domain.RecoverFile{Now: now, Limits: l}
	switch {
	case c.State.Running():
		if step.Overdue(c.Since, now) {
			return overdue
		}
	case c.JobID != "":
	case step.Exhausted(c.Attempts):
		return overdue
	case c.State == domain.FileProcessingFailed && now.Sub(c.Since.Time) >= step.Wait(c.Attempts):
		return domain.RetryProcessing{Limits: l.Processing, Now: now}
	}
	return nil
}
