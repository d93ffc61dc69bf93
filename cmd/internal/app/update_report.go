package app

import (
	"context"

	"github.com/accession-ingest/accession/domain"
)

// RequestUpdate asks for a second report of a failed batch, once its requeued jobs
// have ended (B8). The report follows by itself (B9, B10).
func (a *App) RequestUpdate(ctx context.Context, id domain.BatchID, why string) (Changed, error) {
	c, err := a.changeBatch(ctx, "update-report", id, domain.RequestUpdate{Reason: because(why)})
	if err != nil {
		return c, err
	}
	live, err := a.World.Live(ctx)
	if err != nil {
		return c, explain("update-report "+string(id), err)
	}
	if refs, err := live.Refs(ctx, id); err == nil {
		c.add("the report tells of %d completed and %d unresolved jobs, and which of them succeeded since the report before", refs.Completed, refs.Failed)
	}
	return c, nil
}
