package limits

import (
	"context"
	"sync"

	"github.com/accession-ingest/accession/domain"
)

// Running are the steps that run in this process, by job. When the log says that a
// job was failed by another writer, its step is cancelled: none of its writes would be
// taken. Without the event, the step ends with its next write.
type Running struct {
	mu sync.Mutex
	by map[domain.JobID]runningStep
}

type runningStep struct {
	version int64 // of the job when the step began
	cancel  context.CancelFunc
}

// Add adds the step of a job; the returned function removes it.
func (r *Running) Add(j domain.Job, cancel context.CancelFunc) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[domain.JobID]runningStep{}
	}
	r.by[j.ID] = runningStep{j.Version, cancel}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.by, j.ID)
	}
}

// Notice cancels the step of a job that has failed since the step began.
func (r *Running) Notice(e domain.Recorded) {
	if e.Type != domain.EventJobFailed {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, runs := r.by[domain.JobID(e.Aggregate.ID)]; runs && e.Version > s.version {
		s.cancel()
	}
}
