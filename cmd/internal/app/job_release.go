package app

import (
	"context"

	"github.com/accession-ingest/accession/domain"
)

// ReleaseJob lets a held job go on (J3). It is refused while its collection is on
// hold.
func (a *App) ReleaseJob(ctx context.Context, id domain.JobID, why string) (Changed, error) {
	return a.changeJob(ctx, "release", id, domain.ReleaseJob{Reason: because(why)})
}
