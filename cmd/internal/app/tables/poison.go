package tables

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/query"
)

// PoisonEvent is an event that the tables lack because it could not be applied, or
// because it comes after one of the same aggregate.
type PoisonEvent = query.PoisonEvent

// PoisonFilter chooses held events; empty fields choose all.
type PoisonFilter = query.PoisonFilter

// Poison lists held events in the order of the log, from a cursor on, and counts all that the
// filter chooses.
func Poison(ctx context.Context, a *app.App, f PoisonFilter, from app.Cursor) (p app.Page[PoisonEvent], err error) {
	defer app.Explained(&err, "list held events")
	after, err := app.After(from, "event", func(s string) (string, error) {
		_, err := strconv.ParseInt(s, 10, 64)
		return s, err
	})
	if err != nil {
		return p, err
	}
	f.After, _ = strconv.ParseInt(after, 10, 64) // 0 = from the first on
	db, err := a.Open.DB(ctx)
	if err != nil {
		return p, err
	}
	limit := cmp.Or(f.Limit, defaultLimit)
	f.Limit = limit + 1
	rows, err := query.Poison(ctx, db, f)
	if err != nil {
		return p, err
	}
	p = app.PageOf(limit, append([]PoisonEvent{}, rows...), "event", func(e PoisonEvent) string { return strconv.FormatInt(e.Seq, 10) })
	all, err := query.ListedPoison(ctx, db, f)
	p.Total = &all
	return p, err
}

// defaultLimit is how many held events a page has when it is not said.
const defaultLimit = 100

// PoisonAt shows the held event with a sequence in the log.
func PoisonAt(ctx context.Context, a *app.App, seq uint64) (row PoisonEvent, err error) {
	defer app.Explained(&err, fmt.Sprintf("show event %d", seq))
	db, err := a.Open.DB(ctx)
	if err != nil {
		return row, err
	}
	return query.PoisonAt(ctx, db, seq)
}

// PoisonRetried is the result of a retry for one held aggregate.
type PoisonRetried struct {
	ID        string `json:"id"` // of the aggregate
	Aggregate string `json:"aggregate"`
	Applied   int    `json:"applied"` // events that the tables have now
	Waiting   int    `json:"waiting"` // events that are still held
	Error     string `json:"error,omitempty"`
	DryRun    bool   `json:"dry_run,omitempty"` // nothing was applied: it would be so
}

// RetryPoison applies what is held of one aggregate, or of all of them (the zero
// aggregate), each up to the first event that cannot be applied; with DryRun it returns what it would do.
func RetryPoison(ctx context.Context, a *app.App, one domain.Aggregate) (out []PoisonRetried, err error) {
	defer app.Explained(&err, "retry held events")
	db, err := a.Open.DB(ctx)
	if err != nil {
		return nil, err
	}
	source, err := a.Open.Source(ctx, false)
	if err != nil {
		return nil, err
	}
	retry, list := projections.RetryPoison, []domain.Aggregate{one}
	if a.DryRun {
		retry = projections.TryPoison
	}
	if one.ID == "" {
		if list, err = query.HeldAggregates(ctx, db); err != nil {
			return nil, err
		}
	}
	out = []PoisonRetried{}
	for _, held := range list {
		r, err := retry(ctx, db, source, held)
		if errors.Is(err, query.ErrNotFound) && one.ID == "" {
			continue // another process has released it
		}
		if err != nil {
			return out, err
		}
		row := PoisonRetried{ID: held.String(), Aggregate: held.String(), Applied: r.Applied, Waiting: r.Waiting, DryRun: a.DryRun}
		if r.Err != nil {
			row.Error = r.Err.Error()
		}
		out = append(out, row)
	}
	return out, nil
}
