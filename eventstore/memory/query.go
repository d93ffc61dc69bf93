package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/eventstore"
)

// LoadQuery implements eventstore.Queries.
func (s *Store) LoadQuery(ctx context.Context, id domain.QueryID) (eventstore.Loaded[lookup.Query], error) {
	return load(ctx, s.server, s.server.asked, id, id.Aggregate())
}

// QueryIDs implements eventstore.Queries.
func (s *Store) QueryIDs(ctx context.Context) ([]domain.QueryID, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	return slices.Sorted(maps.Keys(s.server.asked)), ctx.Err()
}

// ReserveQueryID implements eventstore.Queries.
func (s *Store) ReserveQueryID(ctx context.Context) (domain.QueryID, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.lastQID++
	return domain.NewQueryID(s.server.lastQID), ctx.Err()
}

// RemoveQuery implements eventstore.Queries.
func (s *Store) RemoveQuery(ctx context.Context, id domain.QueryID) error {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	r := s.server.asked[id]
	switch {
	case r == nil:
		return ctx.Err()
	case !r.state.State.Ended():
		return failed("remove", id.Aggregate(), eventstore.ErrConflict, "it is "+string(r.state.State)+", not ended")
	}
	s.server.forget(id.Aggregate())
	delete(s.server.asked, id)
	s.server.signal()
	return ctx.Err()
}

// ClaimQuery implements eventstore.Queries.
func (s *Store) ClaimQuery(ctx context.Context, id domain.QueryID) (*eventstore.Claim, eventstore.Loaded[lookup.Query], error) {
	if r, err := s.LoadQuery(ctx, id); err == nil && r.State.State != asked.Grabbed {
		return nil, r, failed("claim", id.Aggregate(), eventstore.ErrConflict, "it does not run")
	}
	return claim(ctx, s, s.server.asked, id, id.Aggregate(), func(lookup.Query) bool { return false })
}
