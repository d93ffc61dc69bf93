// Package ids allots the numbers of batches, jobs, queries and entries.
package ids

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// IDs allots the numbers of batches, jobs, queries and entries.
type IDs struct {
	conn *session.Conn
	root layout.Root
}

// New returns the numbers of a tree.
func New(conn *session.Conn, root layout.Root) *IDs { return &IDs{conn, root} }

// NextIDs returns the numbers that the next ids will have.
func (x *IDs) NextIDs(ctx context.Context) (next eventstore.Numbers, err error) {
	for kind, to := range map[string]*int64{"bid": &next.Batch, "jid": &next.Job, "query": &next.Query, "entry": &next.Entry} {
		if _, err := x.conn.GetJSON(ctx, x.root.IDs(kind), to); err != nil {
			return next, &eventstore.Error{Op: "read the next ids", Err: err}
		}
	}
	return next, nil
}

// RaiseIDs makes the next numbers at least these.
func (x *IDs) RaiseIDs(ctx context.Context, least eventstore.Numbers) error {
	for kind, least := range map[string]int64{"bid": least.Batch, "jid": least.Job, "query": least.Query, "entry": least.Entry} {
		if err := x.raise(ctx, x.root.IDs(kind), least); err != nil {
			return &eventstore.Error{Op: "raise the next ids", Err: err}
		}
	}
	return nil
}

func (x *IDs) raise(ctx context.Context, path string, least int64) error {
	for {
		var now int64
		stat, err := x.conn.GetJSON(ctx, path, &now)
		if err != nil || now >= least {
			return err
		}
		_, err = x.conn.Set(ctx, "zklive/ids/raise", path, layout.Encode(least), stat.Version)
		if !errors.Is(err, zk.ErrBadVersion) {
			return err
		}
	}
}

// ReserveBatchID implements eventstore.Catalog.
func (x *IDs) ReserveBatchID(ctx context.Context) (domain.BatchID, error) {
	n, err := x.reserve(ctx, "bid", 1)
	return domain.NewBatchID(n), err
}

// ReserveQueryID implements eventstore.Queries.
func (x *IDs) ReserveQueryID(ctx context.Context) (domain.QueryID, error) {
	n, err := x.reserve(ctx, "query", 1)
	return domain.NewQueryID(n), err
}

// ReserveEntryID implements eventstore.Entries.
func (x *IDs) ReserveEntryID(ctx context.Context) (compute.ID, error) {
	n, err := x.reserve(ctx, "entry", 1)
	return compute.NewID(n), err
}

// ReserveJobIDs implements eventstore.Catalog.
func (x *IDs) ReserveJobIDs(ctx context.Context, n int) (domain.JobID, error) {
	first, err := x.reserve(ctx, "jid", n)
	return domain.NewJobID(first), err
}

// reserve takes n numbers by one versioned write. If its outcome is unknown the numbers
// stay unused.
func (x *IDs) reserve(ctx context.Context, kind string, n int) (int64, error) {
	first, err := x.conn.Add(ctx, "zklive/ids/reserve", x.root.IDs(kind), int64(n), domain.MaxID+1)
	if err != nil {
		return 0, &eventstore.Error{Op: "reserve ids", Err: err}
	}
	return first, nil
}
