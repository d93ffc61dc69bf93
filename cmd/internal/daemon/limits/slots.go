package limits

import (
	"context"
	"maps"
	"sync"
)

// Slots counts the running turns of each daemon, so that jobs that were handed over and
// jobs that were claimed together do not exceed its workers.
type Slots struct {
	mu    sync.Mutex
	free  map[string]int
	freed chan struct{} // closed when a slot is released
}

// NewSlots returns the slots of some numbers of workers, by their daemons.
func NewSlots(workers map[string]int) *Slots {
	return &Slots{free: maps.Clone(workers), freed: make(chan struct{})}
}

// Take reports whether it took a free slot of a daemon.
func (s *Slots) Take(daemon string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free[daemon] <= 0 {
		return false
	}
	s.free[daemon]--
	return true
}

// Give frees a slot.
func (s *Slots) Give(daemon string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free[daemon]++
	close(s.freed)
	s.freed = make(chan struct{})
}

// Wait waits until a daemon has a free slot, or ctx ends.
func (s *Slots) Wait(ctx context.Context, daemon string) {
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

// Free returns how many slots of a daemon are free.
func (s *Slots) Free(daemon string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.free[daemon]
}
