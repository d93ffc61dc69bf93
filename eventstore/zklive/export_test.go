package zklive

import "github.com/accession-ingest/accession/domain"

// Holding reports whether this process has, or is about to have or to give back, a
// claim of the aggregate.
func (s *Store) Holding(a domain.Aggregate) bool { return s.claimedHere(a) }
