package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

func load[K comparable, S any](ctx context.Context, srv *Server, m map[K]*register[S], key K, a domain.Aggregate) (eventstore.Loaded[S], error) {
	if err := ctx.Err(); err != nil {
		return eventstore.Loaded[S]{}, err
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	r, ok := m[key]
	if !ok {
		return eventstore.Loaded[S]{}, failed("load", a, eventstore.ErrNotFound, "")
	}
	return r.loaded(), nil
}

// Batch implements eventstore.Live.
func (s *Store) Batch(ctx context.Context, id domain.BatchID) (eventstore.Loaded[domain.Batch], error) {
	return load(ctx, s.server, s.server.batches, id, id.Aggregate())
}

// Job implements eventstore.Live.
func (s *Store) Job(ctx context.Context, id domain.JobID) (eventstore.Loaded[domain.Job], error) {
	return load(ctx, s.server, s.server.jobs, id, id.Aggregate())
}

// Setting implements eventstore.Live.
func (s *Store) Setting(ctx context.Context, kind domain.SettingKind, name string) (eventstore.Loaded[domain.Setting], error) {
	at := eventstore.Loaded[domain.Setting]{State: domain.Setting{Kind: kind, Name: name}}
	if err := domain.CheckHoldName(kind, name); err != nil {
		return at, &domain.Refused{Aggregate: at.State.Aggregate(), Code: domain.CodeBadName, Message: err.Error()}
	}
	if err := ctx.Err(); err != nil {
		return at, err
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if r, ok := s.server.settings[at.State.Aggregate()]; ok {
		at = r.loaded()
	}
	return at, nil
}

// ProfilesVersion implements eventstore.Profiles.
func (s *Store) ProfilesVersion(ctx context.Context) (eventstore.Token, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	return s.server.profiles, ctx.Err()
}

// Refs implements eventstore.Live.
func (s *Store) Refs(ctx context.Context, id domain.BatchID) (r eventstore.Refs, err error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	return eventstore.Refs{Processing: len(s.server.in(id, domain.SubProcessing)), Failed: len(s.server.in(id, domain.SubFailed)),
		Completed: len(s.server.in(id, domain.SubCompleted))}, ctx.Err()
}

// BatchJobs implements eventstore.Live.
func (s *Store) BatchJobs(ctx context.Context, id domain.BatchID, sub domain.Sub) ([]domain.JobID, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	jobs := s.server.in(id, sub)
	slices.Sort(jobs)
	return jobs, ctx.Err()
}

// in lists the jobs of a batch in one sub-state. The mutex is held.
func (srv *Server) in(id domain.BatchID, sub domain.Sub) []domain.JobID {
	var jobs []domain.JobID
	for j, s := range srv.refs[id] {
		if s == sub {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// Batches implements eventstore.Catalog.
func (s *Store) Batches(ctx context.Context) ([]domain.BatchID, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	return slices.Sorted(maps.Keys(s.server.batches)), ctx.Err()
}

// Locked implements eventstore.Live.
func (s *Store) Locked(ctx context.Context, of ...domain.Aggregate) (locked []domain.Aggregate, err error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	for _, a := range of {
		if s.server.locks[a] != nil {
			locked = append(locked, a)
		}
	}
	return locked, ctx.Err()
}

// Holds implements eventstore.Live.
func (s *Store) Holds(ctx context.Context) (eventstore.Holds, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	return eventstore.Holds{Version: s.server.holds.Version, Collections: maps.Clone(s.server.holds.Collections),
		Queues: maps.Clone(s.server.holds.Queues)}, ctx.Err()
}

// Remove implements eventstore.Catalog.
func (s *Store) Remove(ctx context.Context, id domain.BatchID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	srv := s.server
	srv.mu.Lock()
	defer srv.mu.Unlock()
	b, ok := srv.batches[id]
	if !ok {
		return nil
	}
	if b.state.State != domain.BatchDeleted {
		return failed("remove", id.Aggregate(), eventstore.ErrConflict, "it is "+string(b.state.State)+", not deleted")
	}
	if left := len(srv.refs[id]); left > 0 && !b.state.Cleaned() {
		return failed("remove", id.Aggregate(), eventstore.ErrConflict, fmt.Sprintf("%d of its jobs are not deleted yet", left))
	}
	for j := range srv.refs[id] {
		srv.forget(j.Aggregate())
		delete(srv.jobs, j)
	}
	srv.forget(id.Aggregate())
	delete(srv.refs, id)
	delete(srv.batches, id)
	srv.signal()
	return nil
}

func (srv *Server) forget(a domain.Aggregate) {
	delete(srv.locks, a)
	delete(srv.claims, a)
}

// ReserveBatchID implements eventstore.Catalog.
func (s *Store) ReserveBatchID(ctx context.Context) (domain.BatchID, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.lastBID++
	return domain.NewBatchID(s.server.lastBID), ctx.Err()
}

// ReserveJobIDs implements eventstore.Catalog.
func (s *Store) ReserveJobIDs(ctx context.Context, n int) (domain.JobID, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	first := s.server.lastJID + 1
	s.server.lastJID += int64(n)
	return domain.NewJobID(first), ctx.Err()
}
