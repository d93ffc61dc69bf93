package app

import (
	"context"

	"github.com/accession-ingest/accession/domain"
)

// Reprioritise changes how urgent a job is, in whatever queue it waits: 0 to 99,
// lower runs first.
func (a *App) Reprioritise(ctx context.Context, id domain.JobID, priority int, why string) (Changed, error) {
	return a.changeJob(ctx, "change the priority of", id, domain.ReprioritiseJob{Priority: priority, Reason: because(why)})
}
