// Package progress computes the progress of a batch, its jobs and its files from the
// events of its history.
package progress

import (
	"maps"

	"github.com/accession-ingest/accession/domain"
)

// Batch is how far a batch is: it always adds up.
type Batch struct {
	Batch      domain.BatchID          `json:"id"`
	State      domain.BatchState       `json:"status"`
	Listed     int                     `json:"listed"` // jobs, 0 until the manifest was read
	Completed  int                     `json:"completed"`
	Failed     int                     `json:"failed"`
	Held       int                     `json:"held"`
	Deleted    int                     `json:"deleted"`
	InProgress int                     `json:"in_progress"`
	Jobs       map[domain.JobState]int `json:"-"` // those that exist, by state
	Files      Files                   `json:"files"`
	// Added counts the jobs that have added a version to an object that was there;
	// Versions has the first of them.
	Added    int       `json:"versions_added"`
	Versions []Version `json:"versions,omitempty"`

	Reason  *domain.Reason `json:"reason,omitempty"`
	Version int64          `json:"version"` // of the batch
	Seq     uint64         `json:"seq"`     // the last event counted
}

// Version is a version, from 2, that a job has added to an object.
type Version struct {
	Job     domain.JobID `json:"job"`
	Primary string       `json:"primary"`
	Version int          `json:"version"`
}

// maxVersions is how many versions a progress names.
const maxVersions = 100

// Ended counts the jobs that only an operator can move.
func (p Batch) Ended() int { return p.Completed + p.Failed + p.Held + p.Deleted }

// Counter counts the events of a batch.
type Counter struct {
	Now   Batch
	jobs  map[domain.JobID]domain.JobState
	sizes map[domain.FileHash]int64 // of files that are not downloaded
}

// New returns the counter of a batch of which no event is counted yet.
func New(id domain.BatchID) *Counter {
	return &Counter{Now: Batch{Batch: id, Jobs: map[domain.JobState]int{}}, jobs: map[domain.JobID]domain.JobState{},
		sizes: map[domain.FileHash]int64{}}
}

// Add counts an event. Its cost does not depend on how many jobs there are.
func (c *Counter) Add(r domain.Recorded) {
	c.Now.Seq = r.Seq
	if m, ok := domain.MoveOfFile(r.Data); ok {
		c.countFile(r, m)
		return
	}
	if m, ok := domain.MoveOfBatch(r.Data); ok {
		c.Now.State, c.Now.Reason, c.Now.Version = m.To, m.Reason, r.Version
		if l, ok := r.Data.(*domain.BatchListed); ok {
			c.Now.Listed = l.Listing.Rows
		}
	}
	if m, ok := domain.MoveOfJob(r.Data); ok {
		id := domain.JobID(r.Aggregate.ID)
		c.Now.Jobs = maps.Clone(c.Now.Jobs) // the caller may still use the one before
		if from := c.jobs[id]; c.Now.Jobs[from] > 1 {
			c.Now.Jobs[from]--
		} else {
			delete(c.Now.Jobs, from)
		}
		c.jobs[id] = m.To
		if d, ok := r.Data.(*domain.JobProcessed); ok && d.Object.Version > 1 {
			if c.Now.Added++; c.Now.Added <= maxVersions {
				c.Now.Versions = append(c.Now.Versions, Version{id, d.Object.Primary, d.Object.Version})
			}
		}
		c.Now.Jobs[m.To]++
	}
	c.Now.Completed, c.Now.Failed = c.Now.Jobs[domain.JobCompleted], c.Now.Jobs[domain.JobFailed]
	c.Now.Held, c.Now.Deleted = c.Now.Jobs[domain.JobHeld], c.Now.Jobs[domain.JobDeleted]
	c.Now.InProgress = max(c.Now.Listed, len(c.jobs)) - c.Now.Ended()
}

// Files is the progress of the files of a batch: their number, and the bytes of those
// whose size is known.
type Files struct {
	Listed     int `json:"listed"`
	Downloaded int `json:"downloaded"`
	Processed  int `json:"processed"`
	GivenUp    int `json:"given_up"`
	Skipped    int `json:"skipped"`

	BytesListed     int64 `json:"bytes_listed"`
	BytesDownloaded int64 `json:"bytes_downloaded"`
	BytesProcessed  int64 `json:"bytes_processed"`
	BytesSkipped    int64 `json:"-"`

	// Begun is when the first download began, Last when a file moved last; zero
	// before.
	Begun domain.Time `json:"begun,omitzero"`
	Last  domain.Time `json:"last,omitzero"`
}

// Done counts the steps that files have completed, of [Files.Steps]: each is
// downloaded, then processed.
func (f Files) Done() int {
	return min(f.Downloaded+f.Processed+2*f.GivenUp+2*f.Skipped, f.Steps())
}

// Steps counts all steps.
func (f Files) Steps() int { return 2 * f.Listed }

// countFile counts an event of a file. Its cost does not depend on how many files there
// are; only those that are not downloaded yet are remembered.
func (c *Counter) countFile(r domain.Recorded, m domain.FileMove) {
	f, hash := &c.Now.Files, domain.FileHash(r.Aggregate.ID)
	f.Last = r.Time
	if m.To == domain.FileDownloading && f.Begun.IsZero() {
		f.Begun = r.Time
	}
	before, known := c.sizes[hash]
	if !known {
		before = m.Size // downloaded: it does not change any more
	}
	if m.From != domain.FileNone {
		f.add(m.From, before, -1)
	}
	f.add(m.To, m.Size, +1)
	if downloaded(m.To) {
		delete(c.sizes, hash)
	} else {
		c.sizes[hash] = m.Size
	}
}

// add counts one file in (+1) or out (-1).
func (f *Files) add(state domain.FileState, size int64, n int) {
	f.Listed += n
	f.BytesListed += int64(n) * size
	switch state {
	case domain.FileIgnore, domain.FileAbandoned:
		f.GivenUp += n
	case domain.FileSkipped:
		f.Skipped += n
		f.BytesSkipped += int64(n) * size
	case domain.FileProcessed:
		f.Processed += n
		f.BytesProcessed += int64(n) * size
	}
	if downloaded(state) && state != domain.FileSkipped && state != domain.FileAbandoned {
		f.Downloaded += n
		f.BytesDownloaded += int64(n) * size
	}
}

// downloaded reports whether a file in the state is, or was, stored.
func downloaded(s domain.FileState) bool {
	switch s {
	case domain.FileDownloaded, domain.FileSkipped, domain.FileReady, domain.FileProcessing,
		domain.FileProcessed, domain.FileProcessingFailed, domain.FileAbandoned:
		return true
	default:
		return false
	}
}
