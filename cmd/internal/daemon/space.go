package daemon

import (
	"sync"

	"github.com/accession-ingest/accession/domain"
)

// space keeps what this process has promised to jobs and they have not written
// yet, in bytes. What is written shows as less free space.
type space struct {
	mu       sync.Mutex
	promised map[domain.JobID]promise
}

type promise struct {
	dir   string // of which working directory
	bytes int64
}

func newSpace() *space { return &space{promised: map[domain.JobID]promise{}} }

// ask promises bytes to the job if they fit beside what others were promised and
// the reserve. A job of unknown size (0) is let through while the reserve is free.
// An earlier promise to the same job is replaced.
func (s *space) ask(job domain.JobID, dir string, bytes, free, reserve int64) (ok bool, left int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.promised, job)
	left = free - reserve
	for _, p := range s.promised {
		if p.dir == dir {
			left -= p.bytes
		}
	}
	if left < bytes || left < 0 {
		return false, left
	}
	s.promised[job] = promise{dir, bytes}
	return true, left
}

// free ends the promise to a job.
func (s *space) free(job domain.JobID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.promised, job)
}

// jobs lists those that have a promise.
func (s *space) jobs() []domain.JobID {
	s.mu.Lock()
	defer s.mu.Unlock()
	jobs := make([]domain.JobID, 0, len(s.promised))
	for j := range s.promised {
		jobs = append(jobs, j)
	}
	return jobs
}
