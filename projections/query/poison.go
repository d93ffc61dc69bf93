package query

import (
	"context"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// PoisonEvent is a row of accession.poison_event.
type PoisonEvent = pgdb.AccessionPoisonEvent

// Poison lists up to limit (0 = 100) held events in the order of the log.
func Poison(ctx context.Context, db Reader, limit int) ([]PoisonEvent, error) {
	rows, err := pgdb.New(db).PoisonEvents(ctx, pgdb.PoisonEventsParams{Name: tables.Main, MaxRows: atMost(limit)})
	return rows, wrap("list held events", err)
}

// PoisonAt returns the held event at a sequence, or ErrNotFound.
func PoisonAt(ctx context.Context, db Reader, seq uint64) (PoisonEvent, error) {
	row, err := pgdb.New(db).PoisonEvent(ctx, pgdb.PoisonEventParams{Name: tables.Main, Seq: int64(seq)})
	return row, wrap(fmt.Sprintf("event %d", seq), err)
}

// PoisonCount is how many events are held, of how many aggregates.
type PoisonCount = pgdb.CountPoisonRow

// CountPoison counts what is held.
func CountPoison(ctx context.Context, db Reader) (PoisonCount, error) {
	n, err := pgdb.New(db).CountPoison(ctx, tables.Main)
	return n, wrap("count held events", err)
}

// HeldAggregates lists the aggregates that are held, in the order in which they were
// held.
func HeldAggregates(ctx context.Context, db Reader) ([]domain.Aggregate, error) {
	rows, err := pgdb.New(db).HeldAggregates(ctx, tables.Main)
	var list []domain.Aggregate
	for _, row := range rows {
		list = append(list, domain.Aggregate{Kind: domain.Kind(row.Kind), ID: row.AggregateID})
	}
	return list, wrap("list held aggregates", err)
}
