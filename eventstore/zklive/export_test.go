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
