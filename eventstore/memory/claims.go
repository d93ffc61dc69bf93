package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
)

// NextJob implements eventstore.Claims.
func (s *Store) NextJob(ctx context.Context, state domain.JobState, gate eventstore.Gate[domain.Job]) (c *eventstore.Claim, at eventstore.Loaded[domain.Job], err error) {
	err = s.server.wait(ctx, changes(gate), func() bool {
		if s.server.paused(string(state)) {
			return false
		}
		line := s.waiting(state)
		first := pass(ctx, line, gate, func(id string) domain.Job { return s.server.jobs[domain.JobID(id)].state })
		if first == "" {
			return false
		}
		r := s.server.jobs[domain.JobID(first)]
		c, at = s.lock(r.state.ID.Aggregate()), r.loaded()
		return true
	})
	return c, at, err
}

// NextBatch implements eventstore.Claims.
func (s *Store) NextBatch(ctx context.Context, state domain.BatchState, gate eventstore.Gate[domain.Batch]) (c *eventstore.Claim, at eventstore.Loaded[domain.Batch], err error) {
	err = s.server.wait(ctx, changes(gate), func() bool {
		if s.server.paused(domain.QueueIngest) {
			return false
		}
		there := map[string]fair.Item{}
		for id, r := range s.server.batches {
			if eventstore.Phase(r.state.State, r.state.Ticket) == state && s.free(id.Aggregate()) {
				there[string(id)] = fair.Item{ID: string(id), Submitter: r.state.Submission.Submitter, Behind: s.behind[id.Aggregate()]}
			}
		}
		line := s.line(string(state)+" batches", there)
		first := pass(ctx, line, gate, func(id string) domain.Batch { return s.server.batches[domain.BatchID(id)].state })
		if first == "" {
			if i, is := gate.(eventstore.Idler); is {
				i.Idle()
			}
			return false
		}
		r := s.server.batches[domain.BatchID(first)]
		c, at = s.lock(r.state.ID.Aggregate()), r.loaded()
		return true
	})
	return c, at, err
}

// changes returns how a gate is waited for, nil = there is none.
func changes[S domain.Batch | domain.Job](gate eventstore.Gate[S]) func() <-chan struct{} {
	if gate == nil {
		return nil
	}
	return gate.Changed
}

// pass returns the first of the line that passes the gate, "" = none.
func pass[S domain.Batch | domain.Job](ctx context.Context, line *fair.Line, gate eventstore.Gate[S], state func(id string) S) string {
	var may func(submitter string) bool
	if gate != nil {
		may = gate.Open
	}
	for {
		first, ok := line.Next(may)
		if !ok || gate == nil || gate.Enter(ctx, state(first.ID)) == "" {
			return first.ID
		}
	}
}

// waiting returns the jobs that may be claimed in a queue that is not paused. The mutex
// is held.
func (s *Store) waiting(state domain.JobState) *fair.Line {
	there := map[string]fair.Item{}
	for id, r := range s.server.jobs {
		if r.state.State == state && r.state.QueueEntry() != "" && !s.server.orphaned(r.state) && s.free(id.Aggregate()) {
			there[string(id)] = fair.Item{ID: string(id), Rank: r.state.Priority, Submitter: r.state.Configuration.Submitter, Behind: s.behind[id.Aggregate()]}
		}
	}
	return s.line(string(state), there)
}

// line brings a line of this session up to date, and returns it. The mutex is held.
func (s *Store) line(name string, there map[string]fair.Item) *fair.Line {
	line := s.lines[name]
	if line == nil {
		line = &fair.Line{}
		s.lines[name] = line
	}
	line.Keep(func(id string) bool { _, is := there[id]; return is })
	var more []fair.Item
	for _, i := range there {
		if !line.Has(i) {
			more = append(more, i)
		}
	}
	slices.SortFunc(more, func(a, b fair.Item) int { return cmp.Compare(a.ID, b.ID) })
	for _, i := range more {
		line.Put(i)
	}
	return line
}

// ClaimJob implements eventstore.Claims.
func (s *Store) ClaimJob(ctx context.Context, id domain.JobID) (*eventstore.Claim, eventstore.Loaded[domain.Job], error) {
	return claim(ctx, s, s.server.jobs, id, id.Aggregate(), s.server.orphaned)
}

// ClaimBatch implements eventstore.Claims.
func (s *Store) ClaimBatch(ctx context.Context, id domain.BatchID) (*eventstore.Claim, eventstore.Loaded[domain.Batch], error) {
	if r, err := s.Batch(ctx, id); err == nil && r.State.Waits() {
		return nil, r, failed("claim", id.Aggregate(), eventstore.ErrConflict, "it waits in a deposit queue until it is grabbed")
	}
	return claim(ctx, s, s.server.batches, id, id.Aggregate(), func(domain.Batch) bool { return false })
}

// comesFirst reports whether a job that was just moved would be claimed before all that
// wait in its state, and counts it as a turn of its submitter then. The mutex is held.
func (s *Store) comesFirst(j domain.Job) bool {
	if s.server.paused(string(j.State)) || s.server.orphaned(j) {
		return false
	}
	line := s.waiting(j.State)
	line.Remove(string(j.ID))
	return line.Serve(fair.Item{ID: string(j.ID), Rank: j.Priority, Submitter: j.Configuration.Submitter})
}

// last returns the highest id of the batches or jobs. The mutex is held.
func (srv *Server) last(of domain.Kind) (id string) {
	if of == domain.KindBatch {
		for b := range srv.batches {
			id = max(id, string(b))
		}
		return id
	}
	for j := range srv.jobs {
		id = max(id, string(j))
	}
	return id
}

// orphaned reports whether the job's batch is deleted. The mutex is held.
func (srv *Server) orphaned(j domain.Job) bool {
	b := srv.batches[j.Configuration.BatchID]
	return b == nil || b.state.State == domain.BatchDeleted
}

func claim[K comparable, S any](ctx context.Context, s *Store, m map[K]*register[S], key K, a domain.Aggregate, gone func(S) bool) (*eventstore.Claim, eventstore.Loaded[S], error) {
	none := eventstore.Loaded[S]{}
	if err := ctx.Err(); err != nil {
		return nil, none, err
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	r, ok := m[key]
	switch {
	case !ok, gone(r.state):
		return nil, none, failed("claim", a, eventstore.ErrNotFound, "")
	case s.server.locks[a] != nil:
		return nil, none, failed("claim", a, eventstore.ErrLocked, "")
	}
	return s.lock(a), r.loaded(), nil
}

// Confirm implements eventstore.Claims.
func (s *Store) Confirm(_ context.Context, c *eventstore.Claim) error {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if s.server.locks[c.Aggregate] != c {
		return failed("confirm the claim", c.Aggregate, eventstore.ErrFenced, "")
	}
	return nil
}

// Release implements eventstore.Claims.
func (s *Store) Release(_ context.Context, c *eventstore.Claim, delay time.Duration) error {
	srv := s.server
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if c.Worker != s.worker || srv.locks[c.Aggregate] != c {
		return nil
	}
	srv.forget(c.Aggregate)
	if delay > 0 {
		s.aside[c.Aggregate] = srv.clock.Now().Add(delay)
		srv.clock.AfterFunc(delay, func() {
			srv.mu.Lock()
			defer srv.mu.Unlock()
			srv.signal()
		})
	}
	srv.signal()
	return nil
}

// Wake implements eventstore.Claims.
func (s *Store) Wake(_ context.Context, id domain.JobID) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	delete(s.aside, id.Aggregate())
	s.server.signal()
}

// Observe implements eventstore.Claims; it does nothing, as all
// sessions look at the same maps.
func (s *Store) Observe(domain.Recorded) {}

// free reports whether this session may take the aggregate now. The mutex is held.
func (s *Store) free(a domain.Aggregate) bool {
	if s.server.locks[a] != nil {
		return false
	}
	if due, set := s.aside[a]; set {
		if s.server.clock.Now().Before(due) {
			return false
		}
		delete(s.aside, a)
		s.behind[a] = s.server.last(a.Kind)
	}
	return true
}

// lock makes the claim. The mutex is held.
func (s *Store) lock(a domain.Aggregate) *eventstore.Claim {
	c := s.claim(a)
	s.server.claims[a]++
	c.Attempts = s.server.claims[a]
	s.server.locks[a] = c
	return c
}

// claim returns a claim that is not made yet.
func (s *Store) claim(a domain.Aggregate) *eventstore.Claim {
	s.number++
	return &eventstore.Claim{ID: fmt.Sprintf("%s-%d", s.worker, s.number), Worker: s.worker, Aggregate: a, Lost: s.lost}
}

func (srv *Server) paused(queue string) bool {
	_, all := srv.holds.Queues[domain.QueueIngest]
	_, one := srv.holds.Queues[queue]
	return all || one
}
