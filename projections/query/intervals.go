package query

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// Interval is a part of the log, both ends included.
type Interval struct{ First, Last uint64 }

// Index holds the intervals of a log that have certain events.
type Index struct {
	Intervals []Interval
	UpTo      uint64 // later sequences are not covered

	stream  string
	created time.Time
}

// Of reports whether the index belongs to this log, whose description must have been
// read after the index. A log that was replaced or lost its end has other events at
// these sequences.
func (x Index) Of(log tables.Stream) bool {
	// PostgreSQL keeps microseconds.
	return x.stream == log.Name && x.created.Equal(log.Created.Truncate(time.Microsecond)) && x.UpTo <= log.Last
}

// FindEvents returns the intervals of the log, up to the projection's checkpoint, with
// the events of a batch (its own, its jobs' and their files') or of a job (its own and
// its files'). Events at most gap sequences apart share an interval, which then has
// other events as well.
func FindEvents(ctx context.Context, db Reader, of domain.Aggregate, gap int64) (Index, error) {
	q := pgdb.New(db)
	// The checkpoint is read first: events that are added meanwhile come after it.
	at, err := q.Checkpoint(ctx, tables.Main)
	if errors.Is(err, pgx.ErrNoRows) {
		return Index{}, nil
	}
	if err != nil {
		return Index{}, wrap("find events of "+of.String(), err)
	}
	var rows []pgdb.BatchIntervalsRow
	if of.Kind == domain.KindBatch {
		rows, err = q.BatchIntervals(ctx, pgdb.BatchIntervalsParams{BatchID: of.ID, Gap: gap})
	} else {
		var ofJob []pgdb.JobIntervalsRow
		ofJob, err = q.JobIntervals(ctx, pgdb.JobIntervalsParams{JobID: of.ID, Gap: gap})
		for _, row := range ofJob {
			rows = append(rows, pgdb.BatchIntervalsRow(row))
		}
	}
	x := Index{UpTo: uint64(at.Seq), stream: at.Stream, created: at.StreamCreated}
	for _, row := range rows {
		if uint64(row.First) <= x.UpTo {
			x.Intervals = append(x.Intervals, Interval{uint64(row.First), min(uint64(row.Last), x.UpTo)})
		}
	}
	return x, wrap("find events of "+of.String(), err)
}
