package eventstore

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
)

// RetryPool is when it is worth to try again a synchronous deposit that was refused because
// as many run as may.
const RetryPool = 10 * time.Second

// Synchronous stands for the synchronous deposits among the pending batches, see
// [Claims.NextBatch].
const Synchronous domain.BatchState = "synchronous"

// Phase returns the state under which a batch waits to be claimed: its own, but for pending
// batches [Synchronous] if it is a synchronous deposit, and "queued", under which nothing is
// claimed, if it waits in a deposit queue.
func Phase(s domain.BatchState, t *domain.Ticket) domain.BatchState {
	switch {
	case s != domain.BatchPending:
		return s
	case t.Waits():
		return "queued"
	case t.Pooled():
		return Synchronous
	}
	return s
}

// Pool is the pool of the synchronous deposits of a queue, with what a write proves that
// adds one.
type Pool struct {
	fair.Pool
	Settings     Token // the version of the settings of the queue
	RunningToken Token // of the number of running ones, if there are any
}

// poolFacts loads what a synchronous deposit depends on. The holds are read before.
func (h *Handler) poolFacts(ctx context.Context, f *domain.Facts, c *Change) (err error) {
	if h.Rings == nil {
		return nil
	}
	if c.Pool, err = h.Rings.Pool(ctx, fair.QueueMetadata); c.Pool == nil || err != nil {
		return err
	}
	holds, err := h.Live.Holds(ctx)
	if err != nil {
		return err
	}
	c.Pool.Paused, c.HoldsVersion = holds.Paused(domain.QueueIngest), holds.Version
	f.Pool = &c.Pool.Pool
	return nil
}

// Admits refuses a synchronous deposit of a user that is not taken now.
func (h *Handler) Admits(ctx context.Context, id domain.BatchID, user string) error {
	var f domain.Facts
	if err := h.poolFacts(ctx, &f, &Change{}); err != nil {
		return err
	}
	return domain.RefuseSynchronous(id, f.Pool, user)
}
