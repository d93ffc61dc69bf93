package zklive

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// errHandOver: what the claim of the next state proves does not hold; the change is
// written alone.
var errHandOver = fmt.Errorf("not handed over: %w", eventstore.ErrConflict)

// handOver is the claim of a job's next state in the multi that finishes the state
// before: a worker goes on without asking again. The tree before and after is that
// of a transition and a claim.
type handOver struct {
	claim *eventstore.Claim
	holds int64
	batch domain.BatchID
	of    eventstore.Token // of the batch's status
}

// handOver gives what a change needs to be handed over, nil = it may not be, as far
// as this process knows. What it knows is proven in the multi.
func (s *Store) handOver(ctx context.Context, changes []eventstore.Change) *handOver {
	c := changes[0]
	if len(changes) != 1 || !c.HandsOver() {
		return nil
	}
	holds, err := s.holds.get(ctx)
	if err != nil || paused(holds, string(c.Next)) {
		return nil
	}
	jq, err := s.queues.open(ctx, c.Next)
	if err != nil || !jq.first(entry{string(c.Job.To.ID), c.Job.To.Priority}) {
		return nil
	}
	batch := c.Job.To.Configuration.BatchID
	of, err := s.statuses.alive(ctx, batch)
	if err != nil {
		return nil
	}
	return &handOver{holds: holds.Version, batch: batch, of: of.token,
		claim: &eventstore.Claim{ID: uuid.NewString(), Worker: c.Claim.Worker, Aggregate: c.Claim.Aggregate, Attempts: 1, Lost: c.Claim.Lost}}
}

// planHandOver adds the checks and the writes of a claim; the worker's fence is there
// already, and so is the status. The lock stays: to delete it and to make the same
// again would leave the same tree.
func (s *Store) planHandOver(p *plan, h *handOver, after domain.Job) {
	p.check(s.paths.locks(), int32(h.holds), errHandOver)
	p.check(s.paths.batchStatus(h.batch), int32(h.of), errHandOver)
	p.check(s.paths.lock(h.claim.Aggregate), -1, eventstore.ErrFenced)
	p.set(s.paths.claims(after.ID), encode(claimCount{Version: after.Version, Claims: 1}), -1, errHandOver)
}

// refusedHandOver drops what turned out to be outdated.
func (s *Store) refusedHandOver(h *handOver) {
	s.holds.outdated()
	s.statuses.forget(h.batch)
}

// found completes the answer to a change that was found written after its
// answer was lost: it was handed over if this worker's lock is there. Nobody else of
// this process can have it, for the claim before is still in the registry.
func (s *Store) found(ctx context.Context, h *handOver, done []eventstore.Committed, err error) ([]eventstore.Committed, error) {
	if h == nil || err != nil {
		return done, err
	}
	ours, err := s.locks(ctx, h.claim)
	if err != nil {
		return nil, &eventstore.Error{Op: "find out who holds", Aggregate: h.claim.Aggregate, Err: errors.Join(eventstore.ErrUnknown, err)}
	}
	if ours {
		done[0].Claim = h.claim
	}
	return done, nil
}

// pass puts the claim of the next state in the place of the one before, if that is
// still held.
func (s *Store) pass(from, to *eventstore.Claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claimed[from.Aggregate] == from {
		s.claimed[from.Aggregate] = to
	}
}
