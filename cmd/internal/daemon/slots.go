package daemon

import (
	"context"
	"sync"
)

// slots counts the turns that are under way of each daemon, so that jobs handed over
// and jobs claimed together are no more than its workers.
type slots struct {
	mu    sync.Mutex
	free  map[string]int
	freed chan struct{} // closed when one is given back
}

func newSlots(workers map[string]int) *slots {
	s := &slots{free: make(map[string]int, len(workers)), freed: make(chan struct{})}
	for name, n := range workers {
		s.free[name] = n
	}
	return s
}

// take takes a slot of a daemon, if there is one.
func (s *slots) take(daemon string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free[daemon] <= 0 {
		return false
	}
	s.free[daemon]--
	return true
}

func (s *slots) give(daemon string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free[daemon]++
	close(s.freed)
	s.freed = make(chan struct{})
}

// wait waits until a daemon has a free slot, or ctx ends.
func (s *slots) wait(ctx context.Context, daemon string) {
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
