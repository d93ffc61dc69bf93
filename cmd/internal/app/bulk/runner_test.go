package bulk

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// behind are tables that do not reach what they are to show.
type behind struct{ app.Tables }

func (behind) Projected(ctx context.Context, _ domain.Aggregate, _ int64) error {
	<-ctx.Done()
	return ctx.Err()
}

// reads counts how often tables are read.
type reads struct {
	query.DB
	n int
}

func (r *reads) Query(context.Context, string, ...any) (pgx.Rows, error) {
	r.n++
	return nil, pgx.ErrNoRows
}

// TestConflictsAreTriedAgain: a thing that another process changes at the same moment is tried
// again, and counts as refused only after the last try. One that a worker has locked is refused.
func TestConflictsAreTriedAgain(t *testing.T) {
	t.Parallel()
	n := &running{Runner: &Runner{App: &app.App{}}, row: record.BulkAction{ID: "0198"}, request: Request{Kind: domain.KindJob}}
	cause := eventstore.ErrConflict
	n.verb.do = func(*app.App, context.Context, string, Request) (app.Changed, error) {
		return app.Changed{}, &app.Error{Kind: app.Refused, Err: fmt.Errorf("hold: %w", cause)}
	}
	for tries := int32(1); tries <= maxTries; tries++ {
		item := &record.BulkItem{Target: "jid0000000001", Version: 3, Outcome: record.ItemBegun, Tries: tries}
		err := n.one(t.Context(), item)
		if last := tries == maxTries; last != (err == nil) || last != (item.Outcome == record.ItemRefused && item.Code == string(app.Refused)) {
			t.Errorf("try %d: %v, %+v", tries, err, item)
		}
	}
	cause = eventstore.ErrLocked
	item := &record.BulkItem{Target: "jid0000000001", Outcome: record.ItemBegun, Tries: 1}
	if err := n.one(t.Context(), item); err != nil || item.Outcome != record.ItemRefused {
		t.Errorf("locked: %v, %+v", err, item)
	}
}

// TestTablesThatAreBehind: while the tables do not show what has become of a thing that an
// earlier try may have changed, it is not said that it was refused: it is tried again.
func TestTablesThatAreBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tables := &reads{}
		n := &running{db: tables, Runner: &Runner{App: &app.App{Open: app.Resources{Tables: behind{}}}}, row: record.BulkAction{ID: "0198"}, request: Request{Kind: domain.KindEntry}}
		item := &record.BulkItem{Target: "eid0000000001", Version: 3, Outcome: record.ItemBegun, Tries: 2}
		if given, err := n.given(t.Context(), item); err == nil || given || tables.n > 0 || item.Outcome != record.ItemBegun {
			t.Errorf("%t, %v, %+v, read %d times", given, err, item, tables.n)
		}
	})
}
