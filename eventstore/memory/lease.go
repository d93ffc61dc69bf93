package memory

import (
	"context"
	"slices"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
)

// held returns the claim as it is kept: a lease is of no session. The mutex is held.
func (srv *Server) held(c *eventstore.Claim) *eventstore.Claim {
	if c.Lease == nil {
		return c
	}
	l := *c.Lease
	l.Version = srv.zxid
	srv.renewed[c.Aggregate] = time.Now()
	return &eventstore.Claim{ID: c.ID, Aggregate: c.Aggregate, Attempts: c.Attempts, Lease: &l}
}

// LoadLease implements eventstore.Leases.
func (s *Store) LoadLease(ctx context.Context, id compute.ID) (eventstore.Lease, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	lock := s.server.locks[id.Aggregate()]
	if lock == nil || lock.Lease == nil {
		return eventstore.Lease{}, failed("load the lease", id.Aggregate(), eventstore.ErrNotFound, "")
	}
	l := *lock.Lease
	l.Renewed = s.server.renewed[id.Aggregate()]
	return l, ctx.Err()
}

// LeaseOfCommand implements eventstore.Leases.
func (s *Store) LeaseOfCommand(ctx context.Context, command string) (compute.ID, eventstore.Lease, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	for a, lock := range s.server.locks {
		if lock.Lease != nil && lock.Lease.Command == command {
			return compute.ID(a.ID), *lock.Lease, ctx.Err()
		}
	}
	return "", eventstore.Lease{}, failed("find the lease that was taken before", domain.Aggregate{Kind: domain.KindEntry}, eventstore.ErrNotFound, "")
}

// taken reports whether a claim with the same id has a lease. The mutex is held.
func (srv *Server) taken(l *eventstore.Lease) bool {
	for _, lock := range srv.locks {
		if l.Command != "" && lock.Lease != nil && lock.Lease.Command == l.Command {
			return true
		}
	}
	return false
}

// RenewLease implements eventstore.Leases.
func (s *Store) RenewLease(ctx context.Context, id compute.ID, l eventstore.Lease) error {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	lock := s.server.locks[id.Aggregate()]
	if lock == nil || lock.Lease == nil || lock.Lease.Version != l.Version {
		return failed("renew the lease", id.Aggregate(), eventstore.ErrConflict, "")
	}
	s.server.zxid++
	s.server.locks[id.Aggregate()] = s.server.held(&eventstore.Claim{ID: lock.ID, Aggregate: lock.Aggregate, Attempts: lock.Attempts, Lease: &l})
	return ctx.Err()
}

// EndOverdueLeases implements eventstore.Leases.
func (s *Store) EndOverdueLeases(ctx context.Context) (ended []compute.ID, err error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	for a, lock := range s.server.locks {
		if a.Kind == domain.KindEntry && lock.Lease != nil && time.Since(s.server.renewed[a]) > lock.Lease.Timeout {
			delete(s.server.locks, a)
			ended = append(ended, compute.ID(a.ID))
		}
	}
	slices.Sort(ended)
	return ended, ctx.Err()
}
