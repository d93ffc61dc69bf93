package memory

import (
	"context"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

var _ eventstore.Space = (*Store)(nil)

// LeadSpace implements eventstore.Space.
func (s *Store) LeadSpace(ctx context.Context) (context.Context, eventstore.Token, func(), error) {
	lead, resign, err := s.lead(ctx, &s.w.space)
	if err != nil {
		return nil, 0, nil, err
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.spaceTerm++
	return lead, s.w.spaceTerm, resign, nil
}

// Promised implements eventstore.Space.
func (s *Store) Promised(ctx context.Context) ([]domain.JobID, error) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	var ids []domain.JobID
	for id, r := range s.w.jobs {
		if r.state.Promised() {
			ids = append(ids, id)
		}
	}
	return ids, ctx.Err()
}

// Promise implements eventstore.Space.
func (s *Store) Promise(ctx context.Context, id domain.JobID) (eventstore.Promise, error) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	r := s.w.jobs[id]
	if r == nil || !r.state.Promised() {
		return eventstore.Promise{}, failed("look for the promise to", id.Aggregate(), eventstore.ErrNotFound, "")
	}
	return eventstore.Promise{Bytes: r.state.SpaceNeeded, Profile: r.state.Configuration.ProfileName, Version: r.state.Version}, ctx.Err()
}
