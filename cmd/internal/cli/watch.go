package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/watch"
	"github.com/accession-ingest/accession/domain"
)

// follow watches a batch until it is at rest and shows how it ended.
func (p *program) follow(ctx context.Context, d door.Door, id domain.BatchID, from uint64) error {
	end, err := p.watch(ctx, d, id, from)
	if err != nil && ctx.Err() != nil {
		fmt.Fprintf(p.Err, "%s continues; follow it with `accession batch show %s --watch`\n", id, id)
	}
	if err != nil {
		return err
	}
	if err := projected(ctx, d, end); err != nil {
		fmt.Fprintf(p.Err, "the tables do not show this yet: %v\n", err)
	}
	if err := show(p, end, func(w io.Writer, end app.Progress) { fmt.Fprintln(w, watch.Summary(end)) }); err != nil {
		return err
	}
	if end.State == domain.BatchFailed {
		fmt.Fprintf(p.Err, "hint: `accession batch report %s` shows what failed and why\n", id)
	}
	return exit.Batch(end.State)
}

// projectedLimit is how long follow waits for the tables.
const projectedLimit = 5 * time.Second

// projected returns when the tables show the end of a batch.
func projected(ctx context.Context, d door.Door, end app.Progress) error {
	if d.There != nil {
		return nil // its answers say how late they are
	}
	ctx, cancel := context.WithTimeout(ctx, projectedLimit)
	defer cancel()
	return d.Here.WaitProjected(ctx, end.Batch, end.Version)
}

// watch follows a batch until it is at rest, and shows how it goes on.
func (p *program) watch(ctx context.Context, d door.Door, id domain.BatchID, from uint64) (app.Progress, error) {
	return watch.Batch(ctx, p.Err, p.draws(), id, func(seen func(app.Event, app.Progress)) (app.Progress, error) {
		if d.There != nil {
			return watch.There(ctx, d.There, id, seen)
		}
		return d.Here.Watch(ctx, id, from, seen)
	})
}
