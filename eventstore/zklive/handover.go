package zklive

import (
	"context"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

// handOver returns what changes need to be handed over, nil = they may not be, as far
// as this process knows. What it knows is proven in the multi.
func (w *committer) handOver(ctx context.Context, changes []eventstore.Change) *layout.HandOver {
	c := changes[0]
	if len(changes) != 1 || !c.HandsOver() {
		return nil
	}
	holds, err := w.holds.Holds(ctx)
	if err != nil || paused(holds, string(c.Next)) {
		return nil
	}
	queue, err := w.jobs.open(ctx, c.Next)
	if err != nil || !queue.first(entry{string(c.Job.To.ID), c.Job.To.Priority}) {
		return nil
	}
	batch := c.Job.To.Configuration.BatchID
	known, err := w.statuses.alive(ctx, batch)
	if err != nil {
		return nil
	}
	return &layout.HandOver{Holds: holds.Version, Batch: batch, BatchToken: known.token,
		Claim: &eventstore.Claim{ID: uuid.NewString(), Worker: c.Claim.Worker, Aggregate: c.Claim.Aggregate, Attempts: 1, Lost: c.Claim.Lost}}
}

// refusedHandOver drops what turned out to be outdated; the next try is written alone.
func (t *attempt) refusedHandOver() {
	t.holds.outdated()
	t.statuses.forget(t.facts.HandOver.Batch)
	t.facts.HandOver = nil
}
