package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/query"
)

// Relay gives the carrier of events from the outbox to the log.
func (w *World) Relay(ctx context.Context) (*eventstore.Relay, error) {
	s, err := w.Store(ctx)
	if err != nil {
		return nil, err
	}
	log, err := w.Log(ctx)
	if err != nil {
		return nil, err
	}
	w.relay = &eventstore.Relay{Outbox: s, Log: log, Logger: w.log.With("role", "relay")}
	return w.relay, nil
}

// Project applies the log to the tables until ctx ends. One process at a time
// does; the others wait for their turn. When the lead passes on in a moment in
// which two believe to have it, the checkpoint lets only one write.
func (w *World) Project(ctx context.Context) error {
	pool, err := w.Pool(ctx)
	if err != nil {
		return err
	}
	return withLease(ctx, pool, func(ctx context.Context) error {
		log, err := w.Log(ctx)
		if err != nil {
			return err
		}
		info, err := log.Info(ctx)
		if err != nil {
			return err
		}
		p, err := projections.New(projections.Config{
			DB:     pool,
			Stream: projections.StreamInfo{Name: info.Name, Created: info.Created, Last: info.Last},
			Source: sourceOf(log, true),
			Held: func(e *projections.EventError) {
				w.log.Error("an event cannot be applied to the tables; its aggregate is held, see `accession poison ls`", "role", "projector", "event", e.ID, "place", e.Seq, "error", e.Err)
			},
		})
		if err != nil {
			return err
		}
		return p.Run(ctx)
	})
}

// Follow tells the live state's indexes what happens elsewhere, as the log has it,
// until ctx ends.
func (w *World) Follow(ctx context.Context) error {
	s, err := w.Store(ctx)
	if err != nil {
		return err
	}
	log, err := w.Log(ctx)
	if err != nil {
		return err
	}
	info, err := log.Info(ctx)
	if err != nil {
		return err
	}
	for r, err := range sourceOf(log, true)(ctx, info.Last+1) {
		if _, ok := errors.AsType[*projections.Unreadable](err); ok {
			continue
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("follow the log: %w", err)
		}
		s.Notice(r)
		if w.runner != nil {
			w.runner.Notice(r)
		}
	}
	return nil
}

// Check opens everything that the roles of this process need and refuses a
// database whose tables are older than this program, and a log that lost events that
// they have.
func (w *World) Check(ctx context.Context) error {
	if _, err := w.DB(ctx); err != nil {
		return err
	}
	if _, err := w.Log(ctx); err != nil {
		return err
	}
	if err := w.continues(ctx); err != nil {
		return err
	}
	_, err := w.Handler(ctx)
	return err
}

// Projected implements app.Tables.
func (w *World) Projected(ctx context.Context, a domain.Aggregate, version int64) error {
	waiter, err := w.projected(ctx)
	if err != nil {
		return err
	}
	return waiter.For(ctx, a, version)
}

// projected gives the one that waits for the tables.
func (w *World) projected(ctx context.Context) (*query.Waiter, error) {
	return w.waiter.get(ctx, func(ctx context.Context) (*query.Waiter, error) {
		if _, err := w.DB(ctx); err != nil {
			return nil, err
		}
		pool, err := w.Pool(ctx)
		if err != nil {
			return nil, err
		}
		return query.NewWaiter(pool), nil
	})
}

// CaughtUp returns when the tables show everything that is in the log at this
// moment, or when ctx ends.
func (w *World) CaughtUp(ctx context.Context) error {
	log, err := w.Log(ctx)
	if err != nil {
		return err
	}
	info, err := log.Info(ctx)
	if err != nil {
		return err
	}
	waiter, err := w.projected(ctx)
	if err != nil {
		return err
	}
	return waiter.Seq(ctx, info.Last)
}
