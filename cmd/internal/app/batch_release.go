package app

import (
	"context"

	"github.com/accession-ingest/accession/domain"
)

// ReleaseBatch lets a held batch go on (B4). It is refused while its collection is
// on hold.
func (a *App) ReleaseBatch(ctx context.Context, id domain.BatchID, why string) (Changed, error) {
	return a.changeBatch(ctx, "release", id, domain.ReleaseBatch{Reason: because(why)})
}
