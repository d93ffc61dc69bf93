package compute

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/attempt"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
)

// Leader returns the entries whose workers are gone, purges those that have ended for long, and
// removes outputs that no entry has. One process at a time does so.
type Leader struct {
	Handler  *eventstore.Handler
	Attempts *attempt.Attempts // at the files for which entries stand
	Outputs  store.Outputs     // of entries
	Tables   Stranded
	// Lead waits until the caller leads; the context that it returns ends with the lead.
	Lead func(ctx context.Context) (lead context.Context, resign func(), err error)
	// Retention is how long an entry that has ended stays in the live state.
	Retention time.Duration
	Log       *slog.Logger
}

// purgeEvery is how often entries that have ended are looked for, and strandedEvery how often
// those for which no job waits.
const (
	purgeEvery    = 10 * time.Minute
	strandedEvery = 5 * time.Second
)

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
	var purged, stranded time.Time
	for ctx.Err() == nil {
		_, err := l.Recover(ctx)
		if err == nil && time.Since(stranded) > strandedEvery {
			stranded = time.Now()
			err = l.Strand(ctx)
		}
		if err == nil && time.Since(purged) > purgeEvery {
			purged = time.Now()
			if err = l.Purge(ctx); err == nil {
				err = l.Tidy(ctx)
			}
		}
		if err != nil && ctx.Err() == nil {
			l.Log.Warn("cannot look after the compute queue; trying again", "error", err)
		}
		wait(ctx)
	}
}

// Recover ends the leases that were not renewed in time, returns the entries whose workers are
// gone, and ends those whose attempts are used up. It reports how many entries it brought to
// each state, with an error those before it. Several processes may do so at once.
func (l *Leader) Recover(ctx context.Context) (map[entry.State]int, error) {
	to := map[entry.State]int{}
	overdue, err := l.Handler.Leases.EndOverdueLeases(ctx)
	for _, id := range overdue {
		l.Log.Info("the lease of an entry is overdue", "entry", id)
	}
	if err != nil {
		return to, err
	}
	orphans, err := l.Handler.Entries.OrphanEntries(ctx)
	if err != nil {
		return to, err
	}
	for _, id := range orphans {
		at, err := l.Handler.Entries.LoadEntry(ctx, id)
		if err == nil && at.State.Owned() {
			var s entry.State
			if s, err = l.orphan(ctx, at.State); err == nil {
				to[s]++
			}
		}
		if err := but(err, eventstore.ErrNotFound, eventstore.ErrLocked, eventstore.ErrBroken); err != nil {
			return to, err
		}
	}
	return to, nil
}

// orphan ends the claim of a worker that is gone, and returns the state after that.
func (l *Leader) orphan(ctx context.Context, e compute.Entry) (to entry.State, err error) {
	var cmd compute.Command = compute.Return{Reason: domain.WorkerLost(e.Worker)}
	if file := l.Attempts.Of(e); file != nil {
		if cmd, err = file.Recover(ctx, domain.WorkerLost(e.Worker)); err != nil {
			return to, err
		}
	}
	ended, err := l.Handler.Entry(ctx, e.ID, cmd, meta())
	if err == nil {
		l.Log.Info("the worker of an entry is gone", "entry", e.ID, "worker", e.Worker, "status", ended.State.State)
	}
	return ended.State.State, err
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

// Tidy removes the outputs that no entry has: of claims that have ended without a result, and of
// entries that are purged. Those of an entry that is not there at all stay for the retention: it
// may be restored.
func (l *Leader) Tidy(ctx context.Context) error {
	ids, err := l.Outputs.Entries()
	if err != nil {
		return err
	}
	for _, id := range ids {
		at, err := l.Handler.Entries.LoadEntry(ctx, id)
		if errors.Is(err, eventstore.ErrBroken) {
			continue // verify finds it
		}
		gone := errors.Is(err, eventstore.ErrNotFound)
		if err != nil && !gone {
			return err
		}
		claims, err := l.Outputs.Claims(id)
		if err != nil {
			return err
		}
		for _, c := range claims {
			if gone && l.Handler.Clock().Sub(c.Modified) <= l.Retention || !gone && wanted(at.State, c) {
				continue
			}
			if err := l.Outputs.Remove(id, c); err != nil {
				return err
			}
			l.Log.Info("outputs that no entry has are removed", "entry", id, "claim", c.Version)
		}
		if len(claims) == 0 {
			if err := l.Outputs.Forget(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// wanted reports whether outputs are those of an entry's result, or may become that.
func wanted(e compute.Entry, c store.Claimed) bool {
	if e.State == entry.Successful {
		return c.Version >= e.Version || c.Version == e.Version-1 && !c.Open
	}
	return c.Version >= e.Version
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
