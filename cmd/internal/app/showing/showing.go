// Package showing has what the use cases of queries, entries and slots share: their lists page
// by page, one of them as it stands, and the wait for its end.
package showing

import (
	"context"
	"errors"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// defaultLimit is how many items a page has when it is not said.
const defaultLimit = 100

// List says how rows of the tables become the items of a list.
type List[ID ~string, Row, Item any] struct {
	Kind  domain.Kind              // of its cursors
	Parse func(string) (ID, error) // checks the id in a cursor
	Item  func(Row) Item
	ID    func(Item) ID
}

// Page returns the items from a cursor on, at most limit (default 100). read returns at most
// limit rows of those behind the item with the id after, "" = from the first one on.
func (l List[ID, Row, Item]) Page(ctx context.Context, a *app.App, from app.Cursor, limit int, read func(db query.Reader, after ID, limit int) ([]Row, error)) (p app.Page[Item], err error) {
	after, err := app.After(from, l.Kind, l.Parse)
	if err != nil {
		return p, err
	}
	db, err := a.Open.DB(ctx)
	if err != nil {
		return p, err
	}
	if limit < 1 {
		limit = defaultLimit
	}
	rows, err := read(db, after, limit+1)
	if err != nil {
		return p, err
	}
	items := make([]Item, len(rows))
	for i, row := range rows {
		items[i] = l.Item(row)
	}
	return app.PageOf(limit, items, l.Kind, func(i Item) string { return string(l.ID(i)) }), nil
}

// Latest returns one item from the tables, or from the live state if that is further. live and
// tables read it; the error is [query.ErrNotFound] if neither has it.
func Latest[Item any](ctx context.Context, a *app.App, version func(Item) int64, live func(*eventstore.Handler) (Item, error), tables func(query.Reader) (Item, error)) (none Item, err error) {
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return none, err
	}
	now, liveErr := live(handler)
	if liveErr != nil && !errors.Is(liveErr, eventstore.ErrNotFound) {
		return none, liveErr
	}
	db, err := a.Open.DB(ctx)
	if err != nil {
		return none, err
	}
	row, err := tables(db)
	switch {
	case err == nil && version(row) >= version(now): // version 0: it is not in the live state
		return row, nil
	case liveErr == nil && (err == nil || errors.Is(err, query.ErrNotFound)):
		return now, nil
	}
	return none, err
}

// often is how often Watch asks.
const often = 300 * time.Millisecond

// Watch returns an item when it has ended. It asks show again and again.
func Watch[Item interface{ Over() bool }](ctx context.Context, show func() (Item, error)) (Item, error) {
	for {
		i, err := show()
		if err != nil || i.Over() {
			return i, err
		}
		select {
		case <-time.After(often):
		case <-ctx.Done():
			return i, ctx.Err()
		}
	}
}
