package zklive

import (
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Holding reports whether this process has, or is about to have or to release, a claim
// of the aggregate.
func (s *Store) Holding(a domain.Aggregate) bool { return s.claims.has(a) }

// Believe puts holds into the cache.
func (s *Store) Believe(h eventstore.Holds) {
	s.holds.mu.Lock()
	defer s.holds.mu.Unlock()
	s.holds.known = &h
}

// Kept counts what this process has in memory of jobs and their queues.
func (s *Store) Kept() int {
	q := s.jobQueues
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.seen) + len(q.recent)
	for _, queue := range q.by {
		queue.index.mu.Lock()
		n += len(queue.waiting) + len(queue.aside) + cap(queue.heap)
		queue.index.mu.Unlock()
	}
	return n
}
