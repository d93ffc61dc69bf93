package zklive

import (
	"context"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

// nextClaim returns the claim of the next state, or nil if the change does not request
// hand-over or this process knows that it is not allowed. The multi proves what this
// process knows.
func (w *committer) nextClaim(ctx context.Context, changes []eventstore.Change) *layout.HandOver {
	c := changes[0]
	if len(changes) != 1 || !c.HandsOver() {
		return nil
	}
	holds, err := w.holds.Holds(ctx)
	if err != nil || holds.Paused(string(c.Next)) {
		return nil
	}
	queue, err := w.jobs.open(ctx, c.Next)
	if err != nil || !queue.serve(itemOf(c.Job.To)) {
		return nil
	}
	batch := c.Job.To.Configuration.BatchID
	known, err := w.statuses.Alive(ctx, batch)
	if err != nil {
		return nil
	}
	return &layout.HandOver{Holds: holds.Version, Batch: batch, BatchToken: known.Token,
		Claim: &eventstore.Claim{ID: uuid.NewString(), Worker: c.Claim.Worker, Aggregate: c.Claim.Aggregate, Attempts: 1,
			Lost: c.Claim.Lost, Silent: c.Claim.Silent}}
}

// dropHandOver forgets the outdated caches and the claim of the next state.
func (call *commitCall) dropHandOver() {
	call.holds.outdated()
	call.statuses.Forget(call.handOver.Batch)
	call.handOver = nil
}
