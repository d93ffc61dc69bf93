package app

import (
	"context"
	"strings"

	"github.com/accession-ingest/accession/domain"
)

// CleanBatch takes a completed batch out of the live state (B13) before its
// retention time is over. Its objects, reports and history stay. It is finished
// like a deletion, but its jobs get no events.
func (a *App) CleanBatch(ctx context.Context, id domain.BatchID, why string) (Changed, error) {
	if why = strings.TrimSpace(why); why == "" {
		why = "no reason given"
	}
	return a.endBatch(ctx, "clean up", id, domain.CleanBatch{Why: why})
}
