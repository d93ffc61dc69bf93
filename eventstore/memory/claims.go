package memory

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// NextJob implements eventstore.Claims.
func (s *Store) NextJob(ctx context.Context, state domain.JobState) (c *eventstore.Claim, at eventstore.Loaded[domain.Job], err error) {
	err = s.w.wait(ctx, func() bool {
		first := s.first(state)
		if first == nil {
			return false
		}
		c, at = s.lock(first.state.ID.Aggregate()), first.loaded()
		return true
	})
	return c, at, err
}

// NextBatch implements eventstore.Claims.
func (s *Store) NextBatch(ctx context.Context, state domain.BatchState) (c *eventstore.Claim, at eventstore.Loaded[domain.Batch], err error) {
	err = s.w.wait(ctx, func() bool {
		var first *register[domain.Batch]
		for id, r := range s.w.batches {
			if r.state.State == state && s.free(id.Aggregate()) && (first == nil || cmp.Less(id, first.state.ID)) {
				first = r
			}
		}
		if first == nil || s.w.paused(domain.QueueIngest) {
			return false
		}
		c, at = s.lock(first.state.ID.Aggregate()), first.loaded()
		return true
	})
	return c, at, err
}

// ClaimJob implements eventstore.Claims.
func (s *Store) ClaimJob(ctx context.Context, id domain.JobID) (*eventstore.Claim, eventstore.Loaded[domain.Job], error) {
	return claim(ctx, s, s.w.jobs, id, id.Aggregate(), s.w.orphaned)
}

// ClaimBatch implements eventstore.Claims.
func (s *Store) ClaimBatch(ctx context.Context, id domain.BatchID) (*eventstore.Claim, eventstore.Loaded[domain.Batch], error) {
	return claim(ctx, s, s.w.batches, id, id.Aggregate(), func(domain.Batch) bool { return false })
}

// first returns the job that may be claimed in a queue before all others, nil = none.
// The mutex is held.
func (s *Store) first(state domain.JobState) (first *register[domain.Job]) {
	if s.w.paused(string(state)) {
		return nil
	}
	for id, r := range s.w.jobs {
		if r.state.State == state && r.state.QueueEntry() != "" && !s.w.orphaned(r.state) && s.free(id.Aggregate()) &&
			(first == nil || r.state.QueueEntry() < first.state.QueueEntry()) {
			first = r
		}
	}
	return first
}

// orphaned reports whether the job's batch is deleted. The mutex is held.
func (w *Server) orphaned(j domain.Job) bool {
	b := w.batches[j.Configuration.BatchID]
	return b == nil || b.state.State == domain.BatchDeleted
}

func claim[K comparable, S any](ctx context.Context, s *Store, m map[K]*register[S], key K, a domain.Aggregate, gone func(S) bool) (*eventstore.Claim, eventstore.Loaded[S], error) {
	none := eventstore.Loaded[S]{}
	if err := ctx.Err(); err != nil {
		return nil, none, err
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	r, ok := m[key]
	switch {
	case !ok, gone(r.state):
		return nil, none, failed("claim", a, eventstore.ErrNotFound, "")
	case s.w.locks[a] != nil:
		return nil, none, failed("claim", a, eventstore.ErrLocked, "")
	}
	return s.lock(a), r.loaded(), nil
}

// Confirm implements eventstore.Claims.
func (s *Store) Confirm(_ context.Context, c *eventstore.Claim) error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.w.locks[c.Aggregate] != c {
		return failed("confirm the claim", c.Aggregate, eventstore.ErrFenced, "")
	}
	return nil
}

// Release implements eventstore.Claims.
func (s *Store) Release(_ context.Context, c *eventstore.Claim, delay time.Duration) error {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.Worker != s.worker || w.locks[c.Aggregate] != c {
		return nil
	}
	w.forget(c.Aggregate)
	if delay > 0 {
		s.aside[c.Aggregate] = w.clock.Now().Add(delay)
		w.clock.AfterFunc(delay, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.signal()
		})
	}
	w.signal()
	return nil
}

// Notice implements eventstore.Claims; it does nothing, as all
// sessions look at the same maps.
func (s *Store) Notice(domain.Recorded) {}

// free reports whether this session may take the aggregate now. The mutex is held.
func (s *Store) free(a domain.Aggregate) bool {
	if s.w.locks[a] != nil {
		return false
	}
	if due, set := s.aside[a]; set {
		if s.w.clock.Now().Before(due) {
			return false
		}
		delete(s.aside, a)
	}
	return true
}

// lock makes the claim. The mutex is held.
func (s *Store) lock(a domain.Aggregate) *eventstore.Claim {
	s.number++
	s.w.claims[a]++
	c := &eventstore.Claim{ID: fmt.Sprintf("%s-%d", s.worker, s.number), Worker: s.worker, Aggregate: a,
		Attempts: s.w.claims[a], Lost: s.lost}
	s.w.locks[a] = c
	return c
}

func (w *Server) paused(queue string) bool {
	_, all := w.holds.Queues[domain.QueueIngest]
	_, one := w.holds.Queues[queue]
	return all || one
}
