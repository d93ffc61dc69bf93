package wire

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/query"
)

// sourceOf returns the log as the projections read it: an event that cannot be
// decoded is yielded with a [projections.Unreadable], and reading continues after it.
// With follow the source waits for new events at the end.
func sourceOf(log eventstore.Log, follow bool) projections.Source {
	return func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
		return func(yield func(domain.Recorded, error) bool) {
			for next := from; next > 0; {
				next = readOn(ctx, log, eventstore.ReadOptions{From: next, Follow: follow}, yield)
			}
		}
	}
}

// Source implements app.EventLog.
func (w *World) Source(ctx context.Context, follow bool) (projections.Source, error) {
	log, err := w.Log(ctx)
	if err != nil {
		return nil, err
	}
	return sourceOf(log, follow), nil
}

// readOn yields events up to and including one that cannot be decoded, and returns
// the sequence after that one, 0 when there is nothing more to read.
func readOn(ctx context.Context, log eventstore.Log, o eventstore.ReadOptions, yield func(domain.Recorded, error) bool) uint64 {
	for r, err := range log.Read(ctx, o) {
		var broken *codec.DecodeError
		if errors.As(err, &broken) && broken.Envelope.Seq > 0 && broken.Envelope.Aggregate.ID != "" {
			if !yield(broken.Envelope, &projections.Unreadable{Data: broken.Data, Err: err}) {
				return 0
			}
			return broken.Envelope.Seq + 1
		}
		if !yield(r, err) || err != nil {
			return 0
		}
	}
	return 0
}

// Lag implements app.Tables.
func (w *World) Lag(ctx context.Context, last uint64) (events int64, age time.Duration, err error) {
	log, err := w.Log(ctx)
	if err != nil {
		return 0, 0, err
	}
	pool, err := w.Pool(ctx)
	if err != nil {
		return 0, 0, err
	}
	return lagOf(ctx, log, pool, last)
}

// lagOf returns how many events up to last the tables lack, and how long ago the log
// took the first of them.
func lagOf(ctx context.Context, log eventstore.Log, db query.DB, last uint64) (events int64, age time.Duration, err error) {
	events, err = query.Lag(ctx, db, last)
	if err != nil || events == 0 {
		return 0, 0, err
	}
	first := last - uint64(events) + 1
	for r, err := range log.Read(ctx, eventstore.ReadOptions{From: first, To: first}) {
		var broken *codec.DecodeError
		switch {
		case errors.As(err, &broken): // its envelope has the time
			r = broken.Envelope
		case err != nil:
			return events, 0, err
		}
		return events, max(time.Since(r.Stored), 0), nil
	}
	return events, 0, nil
}
