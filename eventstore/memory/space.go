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

// PromiseFile implements eventstore.Space.
func (s *Store) PromiseFile(ctx context.Context, f eventstore.FilePromise) (end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := &s.server.permits
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, there := p.space[f.File]; there {
		return nil, failed("promise working space to", f.File.Aggregate(), eventstore.ErrLocked, "")
	}
	by := filePromise{f, p.now[s].worker}
	p.space[f.File] = by
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.space[f.File] == by {
			delete(p.space, f.File)
		}
	}, nil
}

// FilePromises implements eventstore.Space.
func (s *Store) FilePromises(ctx context.Context) (all []eventstore.FilePromise, err error) {
	p := &s.server.permits
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.space {
		all = append(all, f.FilePromise)
	}
	return all, ctx.Err()
}
