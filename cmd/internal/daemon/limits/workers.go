package limits

import (
	"context"
	"maps"
	"sync"
)

// Workers counts the free workers of each daemon, so that jobs that were handed over and
// jobs that were claimed together do not exceed its workers.
type Workers struct {
	mu    sync.Mutex
	free  map[string]int
	freed chan struct{} // closed when a worker becomes free
}

// NewWorkers returns some numbers of free workers, by their daemons.
func NewWorkers(workers map[string]int) *Workers {
	return &Workers{free: maps.Clone(workers), freed: make(chan struct{})}
}

// Take reports whether it took a free worker of a daemon.
func (s *Workers) Take(daemon string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free[daemon] <= 0 {
		return false
	}
	s.free[daemon]--
	return true
}

// Give frees a worker.
func (s *Workers) Give(daemon string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free[daemon]++
	close(s.freed)
	s.freed = make(chan struct{})
}

// Wait waits until a daemon has a free worker, or ctx ends.
func (s *Workers) Wait(ctx context.Context, daemon string) {
	for {
		s.mu.Lock()
		free, freed := s.free[daemon], s.freed
		s.mu.Unlock()
		if free > 0 {
			return
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return
		}
	}
}

// Free returns how many workers of a daemon are free.
func (s *Workers) Free(daemon string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.free[daemon]
}
