package app

import (
	"context"

	"github.com/accession-ingest/accession/domain"
)

// ResumeQueue ends the pause of a queue: work goes on by itself.
func (a *App) ResumeQueue(ctx context.Context, name, why string) (Changed, error) {
	return a.changeHold(ctx, "resume", domain.HoldQueue, name, nil, why)
}
