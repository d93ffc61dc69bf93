package queue

import (
	"context"
	"errors"
	"log/slog"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Resting frees the places of batches, and remembers of each running batch a job that went
// on when it was looked at last, so that a batch with many jobs is seldom looked at whole.
type Resting struct {
	Handler *eventstore.Handler
	Log     *slog.Logger
	moving  map[domain.BatchID]domain.JobID
}

// Free frees the place of a batch if all of its open jobs rest.
func (r *Resting) Free(ctx context.Context, b domain.Batch, meta eventstore.Meta) error {
	likely := r.moving[b.ID]
	delete(r.moving, b.ID)
	job, freed, err := r.Handler.FreeResting(ctx, b, likely, meta)
	if freed {
		r.Log.Info("the open jobs of a batch are held or wait for space; it does not count as running any more", "batch", b.ID, "user", b.Ticket.User)
	}
	if job != "" {
		if r.moving == nil {
			r.moving = map[domain.BatchID]domain.JobID{}
		}
		r.moving[b.ID] = job
	}
	var refused *domain.Refused
	if errors.As(err, &refused) {
		return nil // another process has freed it, or it is reported
	}
	return err
}
