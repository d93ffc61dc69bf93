package app

import (
	"context"

	"github.com/accession-ingest/accession/domain"
)

// Requeue sends a failed job back to the state that it failed in (J16 to J19).
func (a *App) Requeue(ctx context.Context, id domain.JobID, why string) (Changed, error) {
	return a.changeJob(ctx, "requeue", id, domain.RequeueJob{Reason: because(why)})
}
