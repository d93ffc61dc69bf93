package memory

import (
	"context"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

var _ eventstore.Space = (*Store)(nil)

// LeadSpace implements eventstore.Space.
func (s *Store) LeadSpace(ctx context.Context) (context.Context, eventstore.Token, func(), error) {
	lead, resign, err := s.lead(ctx, &s.server.space)
	if err != nil {
		return nil, 0, nil, err
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.spaceTerm++
	return lead, s.server.spaceTerm, resign, nil
}

// Promised implements eventstore.Space.
func (s *Store) Promised(ctx context.Context) ([]domain.JobID, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	var ids []domain.JobID
	for id, r := range s.server.jobs {
		if r.state.Promised() {
			ids = append(ids, id)
		}
	}
	return ids, ctx.Err()
}

// Promise implements eventstore.Space.
func (s *Store) Promise(ctx context.Context, id domain.JobID) (eventstore.Promise, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	r := s.server.jobs[id]
	if r == nil || !r.state.Promised() {
		return eventstore.Promise{}, failed("look for the promise to", id.Aggregate(), eventstore.ErrNotFound, "")
	}
	return eventstore.Promise{Bytes: r.state.SpaceNeeded, Profile: r.state.Configuration.ProfileName, Version: r.state.Version}, ctx.Err()
}
