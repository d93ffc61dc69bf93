package query

import (
	"context"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// PoisonEvent is a row of accession.poison_event.
type PoisonEvent = pgdb.AccessionPoisonEvent

// PoisonFilter chooses held events; empty fields choose all.
type PoisonFilter struct {
	Batch domain.BatchID
	// Since and Until bound since when they are held: not before, and before.
	Since, Until time.Time
	After        int64 // only later ones: the sequence of the last of the page before
	Limit        int   // at most, in the order of the log (default 100)
}

// Poison lists held events in the order of the log.
func Poison(ctx context.Context, db Reader, f PoisonFilter) ([]PoisonEvent, error) {
	rows, err := pgdb.New(db).HeldEvents(ctx, pgdb.HeldEventsParams{Name: tables.Main, BatchID: string(f.Batch), Since: given(f.Since), Until: given(f.Until), After: f.After, MaxRows: atMost(f.Limit)})
	return rows, wrap("list held events", err)
}

// ListedPoison counts the held events that a filter chooses; After and Limit are ignored.
func ListedPoison(ctx context.Context, db Reader, f PoisonFilter) (int64, error) {
	n, err := pgdb.New(db).CountHeldEvents(ctx, pgdb.CountHeldEventsParams{Name: tables.Main, BatchID: string(f.Batch), Since: given(f.Since), Until: given(f.Until)})
	return n, wrap("count held events", err)
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
