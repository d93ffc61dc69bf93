package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/query"
)

// PoisonEvent is an event that the tables lack because it could not be applied, or
// because it waits behind one.
type PoisonEvent = query.PoisonEvent

// Poison lists up to limit held events in the order of the log, and counts all.
func (a *App) Poison(ctx context.Context, limit int) ([]PoisonEvent, query.PoisonCount, error) {
	db, err := a.Open.DB(ctx)
	if err != nil {
		return nil, query.PoisonCount{}, explain("list held events", err)
	}
	rows, err := query.Poison(ctx, db, limit)
	if err != nil {
		return nil, query.PoisonCount{}, explain("list held events", err)
	}
	n, err := query.CountPoison(ctx, db)
	return notNil(rows), n, explain("list held events", err)
}

// PoisonAt shows the held event at a place of the log.
func (a *App) PoisonAt(ctx context.Context, seq uint64) (PoisonEvent, error) {
	what := fmt.Sprintf("show event %d", seq)
	db, err := a.Open.DB(ctx)
	if err != nil {
		return PoisonEvent{}, explain(what, err)
	}
	row, err := query.PoisonAt(ctx, db, seq)
	return row, explain(what, err)
}

// PoisonRetried tells what became of one held aggregate.
type PoisonRetried struct {
	Aggregate string `json:"aggregate"`
	Applied   int    `json:"applied"` // events that the tables have now
	Waiting   int    `json:"waiting"` // events that are still held
	Error     string `json:"error,omitempty"`
}

// RetryPoison applies what is held of one aggregate, or of all of them (the zero
// aggregate), as far as that goes.
func (a *App) RetryPoison(ctx context.Context, one domain.Aggregate) ([]PoisonRetried, error) {
	const what = "retry held events"
	db, err := a.Open.DB(ctx)
	if err != nil {
		return nil, explain(what, err)
	}
	source, err := a.Open.Source(ctx, false)
	if err != nil {
		return nil, explain(what, err)
	}
	list := []domain.Aggregate{one}
	if one.ID == "" {
		if list, err = query.HeldAggregates(ctx, db); err != nil {
			return nil, explain(what, err)
		}
	}
	out := []PoisonRetried{}
	for _, held := range list {
		r, err := projections.RetryPoison(ctx, db, source, held)
		if errors.Is(err, query.ErrNotFound) && one.ID == "" {
			continue // somebody else has freed it
		}
		if err != nil {
			return out, explain(what, err)
		}
		row := PoisonRetried{Aggregate: held.String(), Applied: r.Applied, Waiting: r.Waiting}
		if r.Err != nil {
			row.Error = r.Err.Error()
		}
		out = append(out, row)
	}
	return out, nil
}
