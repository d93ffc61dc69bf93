package app

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// WaitProjected returns when the tables have reached the version of the batch.
func (a *App) WaitProjected(ctx context.Context, id domain.BatchID, version int64) error {
	return explain("wait for "+string(id), a.Open.Projected(ctx, id.Aggregate(), version))
}

// pollOutbox is how often CatchUp looks at the outbox.
const pollOutbox = 50 * time.Millisecond

// CatchUp returns when the log has every event that was committed before, and the
// tables show what was in the log then.
func (a *App) CatchUp(ctx context.Context) (err error) {
	defer Explained(&err, "wait for the tables")
	live, err := a.Open.Live(ctx)
	if err != nil {
		return err
	}
	for {
		o, err := live.Overview(ctx)
		if err != nil {
			return err
		}
		if o.Outbox.Unsent == 0 {
			return a.Open.CaughtUp(ctx)
		}
		select {
		case <-time.After(pollOutbox):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
