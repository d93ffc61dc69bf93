package compute

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/attempt"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
)

// Leader returns the entries whose workers are gone, and purges those that have ended for
// long. One process at a time does so.
type Leader struct {
	Handler  *eventstore.Handler
	Attempts *attempt.Attempts // at the files for which entries stand
	// Lead waits until the caller leads; the context that it returns ends with the lead.
	Lead func(ctx context.Context) (lead context.Context, resign func(), err error)
	// Retention is how long an entry that has ended stays in the live state.
	Retention time.Duration
	Log       *slog.Logger
}

// purgeEvery is how often entries that have ended are looked for.
const purgeEvery = 10 * time.Minute

// Retention is how long an entry that has ended stays in the live state by default.
const Retention = 7 * 24 * time.Hour

// Run leads until ctx ends.
func (l *Leader) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		lead, resign, err := l.Lead(ctx)
		if err != nil {
			if ctx.Err() == nil {
				l.Log.Warn("cannot lead the compute queue; trying again", "error", err)
				wait(ctx)
			}
			continue
		}
		l.lead(lead)
		resign()
	}
	return nil
}

func (l *Leader) lead(ctx context.Context) {
	var purged time.Time
	for ctx.Err() == nil {
		err := l.Overdue(ctx)
		if err == nil {
			err = l.Orphans(ctx)
		}
		if err == nil && time.Since(purged) > purgeEvery {
			purged = time.Now()
			err = l.Purge(ctx)
		}
		if err != nil && ctx.Err() == nil {
			l.Log.Warn("cannot look after the compute queue; trying again", "error", err)
		}
		wait(ctx)
	}
}

// Overdue ends the leases that were not renewed in time: their entries are orphans then.
func (l *Leader) Overdue(ctx context.Context) error {
	ids, err := l.Handler.Leases.EndOverdueLeases(ctx)
	for _, id := range ids {
		l.Log.Info("the lease of an entry is overdue", "entry", id)
	}
	return err
}

// Orphans returns the entries whose workers are gone, or ends those whose attempts are used up.
func (l *Leader) Orphans(ctx context.Context) error {
	ids, err := l.Handler.Entries.OrphanEntries(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		at, err := l.Handler.Entries.LoadEntry(ctx, id)
		if err == nil && at.State.Owned() {
			err = l.orphan(ctx, at.State)
		}
		if err := but(err, eventstore.ErrNotFound, eventstore.ErrLocked, eventstore.ErrBroken); err != nil {
			return err
		}
	}
	return nil
}

// orphan ends the claim of a worker that is gone.
func (l *Leader) orphan(ctx context.Context, e compute.Entry) (err error) {
	var cmd compute.Command = compute.Return{Reason: domain.WorkerLost(e.Worker)}
	if file := l.Attempts.Of(e); file != nil {
		if cmd, err = file.Recover(ctx, domain.WorkerLost(e.Worker)); err != nil {
			return err
		}
	}
	ended, err := l.Handler.Entry(ctx, e.ID, cmd, meta())
	if err == nil {
		l.Log.Info("the worker of an entry is gone", "entry", e.ID, "worker", e.Worker, "status", ended.State.State)
	}
	return err
}

// Purge ends what the live state keeps of entries that have ended for longer than the
// retention.
func (l *Leader) Purge(ctx context.Context) error {
	ids, err := l.Handler.Entries.EntryIDs(ctx)
	if err != nil {
		return err
	}
	for _, id := range append(ids.Done, ids.Failed...) {
		at, err := l.Handler.Entries.LoadEntry(ctx, id)
		if err == nil && at.State.State.Ended() && l.Handler.Clock().Sub(at.State.Modified.Time) > l.Retention {
			_, err = l.Handler.Entry(ctx, id, compute.Purge{}, meta())
		}
		if err := but(err, eventstore.ErrNotFound, eventstore.ErrBroken); err != nil {
			return err
		}
	}
	return nil
}

// but returns an error, unless it is a refusal of the rules or one of these: another process
// was first, or verify finds it.
func but(err error, expected ...error) error {
	var refused *domain.Refused
	if errors.As(err, &refused) {
		return nil
	}
	for _, e := range expected {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}
