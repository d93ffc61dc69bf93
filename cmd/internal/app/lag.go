package app

import (
	"context"
	"errors"
	"time"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
)

// Lag tells how far the tables are behind a log that ends at last: in events, and
// how long ago the log took the first event that they lack (0 when they lack none).
func Lag(ctx context.Context, log eventstore.Log, db projections.DB, last uint64) (events int64, age time.Duration, err error) {
	events, err = projections.Lag(ctx, db, last)
	if err != nil || events == 0 {
		return 0, 0, err
	}
	first := last - uint64(events) + 1
	for r, err := range log.Read(ctx, eventstore.ReadOptions{From: first, To: first}) {
		var broken *eventstore.DecodeError
		switch {
		case errors.As(err, &broken): // when it came is known all the same
			r = broken.Envelope
		case err != nil:
			return events, 0, err
		}
		return events, max(time.Since(r.Stored), 0), nil
	}
	return events, 0, nil
}
