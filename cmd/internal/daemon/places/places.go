// Package places ends that batches count as running in a deposit queue whose open jobs are
// all held or wait for working space.
package places

import (
	"context"
	"errors"
	"log/slog"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Places frees places, and remembers of each running batch a job that went on when it was
// looked at last, so that a batch with many jobs is seldom looked at whole.
type Places struct {
	Handler *eventstore.Handler
	Log     *slog.Logger
	moving  map[domain.BatchID]domain.JobID
}

// Free frees the place of a batch if all of its open jobs rest.
func (p *Places) Free(ctx context.Context, b domain.Batch, meta eventstore.Meta) error {
	likely := p.moving[b.ID]
	delete(p.moving, b.ID)
	job, freed, err := p.Handler.FreeResting(ctx, b, likely, meta)
	if freed {
		p.Log.Info("the open jobs of a batch are held or wait for space; it does not count as running any more", "batch", b.ID, "user", b.Ticket.User)
	}
	if job != "" {
		if p.moving == nil {
			p.moving = map[domain.BatchID]domain.JobID{}
		}
		p.moving[b.ID] = job
	}
	var refused *domain.Refused
	if errors.As(err, &refused) {
		return nil // another process has freed it, or it is reported
	}
	return err
}
