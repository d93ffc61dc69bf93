package projections

import (
	"cmp"
	"maps"
	"slices"

	"github.com/accession-ingest/accession/domain"
)

// AllRetries gives failed attempts of jobs and files in the order in which they
// failed.
func (p *Past) AllRetries() []Retry {
	rows := slices.Concat(p.Retries(domain.KindJob), p.Retries(domain.KindFile))
	slices.SortFunc(rows, func(a, b Retry) int {
		return cmp.Or(a.FailedAt.Compare(b.FailedAt), cmp.Compare(a.JobID, b.JobID), cmp.Compare(a.RawFileHash, b.RawFileHash), cmp.Compare(a.Number, b.Number))
	})
	return rows
}

// Failures tells why attempts failed, the most frequent first.
func (p *Past) Failures() []FailureRow {
	type key struct{ kind, failedIn, class, code string }
	sums, jobs := map[key]*FailureRow{}, map[key]map[string]bool{}
	for _, r := range p.AllRetries() {
		k := key{r.Kind, r.FailedIn, r.Class, r.Code}
		s := sums[k]
		if s == nil {
			s = &FailureRow{Kind: r.Kind, FailedIn: r.FailedIn, Class: r.Class, Code: r.Code}
			sums[k], jobs[k] = s, map[string]bool{}
		}
		s.Failures++
		jobs[k][r.JobID] = true
		s.Jobs = int64(len(jobs[k]))
		if (r.Outcome == OutcomeOpen || r.Outcome == OutcomeGivenUp) && r.ResumedAt == nil {
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

// Submitters tells what became of batches, by who deposited them.
func (p *Past) Submitters() []SubmitterRow {
	sums := map[string]*SubmitterRow{}
	for id := range p.f.batches {
		b, err := p.Summary(domain.BatchID(id))
		if err != nil || b.SubmittedAt == nil {
			continue // nothing is known of it but its jobs
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
		s.JobsListed += value(b.RowsListed)
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

// each gives what pointers point to.
func each[T any](pointers func(func(*T) bool)) func(func(T) bool) {
	return func(yield func(T) bool) {
		for p := range pointers {
			if !yield(*p) {
				return
			}
		}
	}
}
