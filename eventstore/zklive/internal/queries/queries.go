// Package queries reads and removes queries.
package queries

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// Directory is the directory of queries of a tree.
type Directory struct {
	conn *session.Conn
	root layout.Root
}

// New returns the queries of a tree.
func New(conn *session.Conn, root layout.Root) *Directory { return &Directory{conn, root} }

// LoadQuery implements eventstore.Queries. The status is read first; what is asked never changes.
func (x *Directory) LoadQuery(ctx context.Context, id domain.QueryID) (at eventstore.Loaded[lookup.Query], err error) {
	var status layout.QueryStatus
	stat, err := x.conn.GetJSON(ctx, x.root.QueryStatus(id), &status)
	if err == nil {
		at.Token, at.State.ID = eventstore.Token(stat.Version), id
		status.Apply(&at.State)
		_, err = x.conn.GetJSON(ctx, x.root.QueryRequest(id), &at.State.Request)
	}
	if errors.Is(err, zk.ErrNoNode) {
		err = eventstore.ErrNotFound
	}
	if err != nil {
		return at, &eventstore.Error{Op: "load", Aggregate: id.Aggregate(), Err: err}
	}
	return at, nil
}

// Running is LoadQuery for a query that has to run, else ErrConflict. claims is how often it
// was claimed since its grab, or since it was released.
func (x *Directory) Running(ctx context.Context, id domain.QueryID) (at eventstore.Loaded[lookup.Query], claims int, err error) {
	at, err = x.LoadQuery(ctx, id)
	switch {
	case err != nil:
		return at, 0, err
	case at.State.State != asked.Grabbed:
		return at, 0, &eventstore.Error{Op: "claim", Aggregate: id.Aggregate(), Err: eventstore.ErrConflict, Hint: "it does not run"}
	}
	n, err := x.conn.Get(ctx, x.root.Query(id))
	if err != nil {
		return at, 0, &eventstore.Error{Op: "count the claims", Aggregate: id.Aggregate(), Err: err}
	}
	if claims, err = strconv.Atoi(string(n.Data)); err != nil {
		claims = 1 // the grab
	}
	return at, claims, nil
}

// QueryIDs implements eventstore.Queries.
func (x *Directory) QueryIDs(ctx context.Context) (ids []domain.QueryID, err error) {
	names, err := x.conn.List(ctx, x.root.Queries())
	if err != nil {
		return nil, &eventstore.Error{Op: "list queries", Err: err}
	}
	for _, name := range names {
		if id, err := domain.ParseQueryID(name); err == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// RemoveQuery implements eventstore.Queries. What an interrupted removal has left is removed
// too: it has no status any more.
func (x *Directory) RemoveQuery(ctx context.Context, id domain.QueryID) error {
	at, err := x.LoadQuery(ctx, id)
	if err == nil && !at.State.State.Ended() {
		err = &eventstore.Error{Op: "remove", Aggregate: id.Aggregate(), Err: eventstore.ErrConflict, Hint: "it is " + string(at.State.State) + ", not ended"}
	}
	if err == nil || errors.Is(err, eventstore.ErrNotFound) {
		err = x.conn.Destroy(ctx, x.root.Query(id))
	}
	return err
}
