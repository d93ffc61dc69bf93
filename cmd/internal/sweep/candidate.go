package sweep

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// Filter selects candidates: files that it does not select are not overdue.
type Filter struct {
	// A running attempt is selected when it began before this.
	DownloadBefore, ProcessingBefore domain.Time
	// A failed file that belongs to no job is selected when it waits to be processed
	// again, or when so many downloads of it have begun. Those of jobs are the job
	// daemon's, which knows whose fault the failures were.
	DownloadAttempts int
}

// Candidate is a file that may be overdue, as the tables show it.
type Candidate struct {
	Hash     domain.FileHash
	State    domain.FileState
	Attempts int         // of the step that it is in
	Since    domain.Time // the log's time of the attempt's beginning, or of its failure
	JobID    domain.JobID
	Profile  string // of its job or its dataset, "" = not known
}

// Finder finds candidates.
type Finder interface {
	// Candidates returns up to limit selected files whose hash comes after the one
	// given, in the order of their hashes.
	Candidates(ctx context.Context, filter Filter, after domain.FileHash, limit int) ([]Candidate, error)
}

// command returns the command that ends or retries a candidate now, by its own
// limits; nil = it is not overdue.
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

// Limits bound the time of attempts and their number.
type Limits struct {
	// Default is for files of profiles that are not named.
	Default domain.FileLimits
	// Profiles is for the files of jobs and datasets, by the names of their profiles.
	Profiles map[string]domain.FileLimits
	// Notes are what operators should know of where the timeouts come from; each summary
	// has them.
	Notes []string
}

// Of returns the limits of a profile's files; "" = it is not known.
func (l Limits) Of(profile string) domain.FileLimits {
	if of, ok := l.Profiles[profile]; ok && profile != "" {
		return of
	}
	return l.Default
}

// Filter returns the conditions that every overdue file meets, whatever its profile.
func (l Limits) Filter(now domain.Time) Filter {
	download, processing, attempts := l.Default.Download.Timeout, l.Default.Processing.Timeout, l.Default.Download.Max
	for _, of := range l.Profiles {
		download, processing = min(download, of.Download.Timeout), min(processing, of.Processing.Timeout)
		attempts = min(attempts, of.Download.Max)
	}
	before := func(timeout time.Duration) domain.Time { return domain.At(now.Add(-timeout)) }
	return Filter{DownloadBefore: before(download), ProcessingBefore: before(processing), DownloadAttempts: attempts}
}

// Tables finds candidates in PostgreSQL.
type Tables struct{ DB query.DB }

var _ Finder = Tables{}

// Candidates implements Finder.
func (t Tables) Candidates(ctx context.Context, filter Filter, after domain.FileHash, limit int) ([]Candidate, error) {
	rows, err := query.SweepCandidates(ctx, t.DB, query.SweepFilter{
		DownloadBefore: filter.DownloadBefore.Time, ProcessingBefore: filter.ProcessingBefore.Time,
		Downloads: filter.DownloadAttempts, After: after, Limit: limit})
	if err != nil {
		return nil, err
	}
	found := make([]Candidate, len(rows))
	for i, r := range rows {
		found[i] = Candidate{Hash: domain.FileHash(r.RawFileHash), State: domain.FileState(r.Status), Attempts: int(r.Attempts),
			Since: domain.At(r.StatusSince), JobID: domain.JobID(r.JobID), Profile: r.ProfileName}
	}
	return found, nil
}
