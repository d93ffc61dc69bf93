package app

import (
	"context"

	"github.com/accession-ingest/accession/domain"
)

// PauseQueue stops every claim in a queue: the state of jobs that it is named
// after, or ingest for all queues and batches. Work under way ends; deposits are
// taken in.
func (a *App) PauseQueue(ctx context.Context, name, why string) (Changed, error) {
	c, err := a.changeHold(ctx, "pause", domain.HoldQueue, name, &domain.Hold{}, why)
	if err != nil {
		return c, err
	}
	c.add("nothing more is begun there; what is under way ends, and deposits are taken in")
	return c, nil
}
