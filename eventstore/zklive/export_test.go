package zklive

import (
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Holding reports whether this process has, or is about to have or to give back, a
// claim of the aggregate.
func (s *Store) Holding(a domain.Aggregate) bool { return s.claimedHere(a) }

// Believe puts holds into the cache.
func (s *Store) Believe(h eventstore.Holds) {
	s.holds.mu.Lock()
	defer s.holds.mu.Unlock()
	s.holds.known = &h
}

// Kept counts what this process has in memory of jobs and their queues.
func (s *Store) Kept() int {
	q := s.queues
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.seen) + len(q.recent)
	for _, jq := range q.by {
		jq.index.mu.Lock()
		n += len(jq.waiting) + len(jq.aside) + cap(jq.heap)
		jq.index.mu.Unlock()
	}
	return n
}
