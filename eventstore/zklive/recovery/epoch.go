package recovery

import (
	"context"
	"math"
	"sync/atomic"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// Epoch is the number that grows when a tree or a log is restored. It is read once:
// it changes only while no other process uses the tree.
type Epoch struct {
	conn  *session.Conn
	path  string
	known atomic.Int64 // 0 until it was read
}

// NewEpoch returns the epoch of a tree.
func NewEpoch(conn *session.Conn, root layout.Root) *Epoch {
	return &Epoch{conn: conn, path: root.Epoch()}
}

// Known returns the epoch when it was read, else 0.
func (e *Epoch) Known() int64 { return e.known.Load() }

// Get returns the epoch.
func (e *Epoch) Get(ctx context.Context) (int64, error) {
	if known := e.Known(); known != 0 {
		return known, nil
	}
	var n int64
	if _, err := e.conn.GetJSON(ctx, e.path, &n); err != nil {
		return 0, err
	}
	e.known.Store(n)
	return n, nil
}

// NewEpoch implements eventstore.Restorer. After a lost answer it begins another one.
func (e *Epoch) NewEpoch(ctx context.Context) (int64, error) {
	before, err := e.conn.Add(ctx, "zklive/restore/epoch", e.path, 1, math.MaxInt64)
	if err != nil {
		return 0, &eventstore.Error{Op: "begin an epoch", Err: err}
	}
	e.known.Store(0)
	return before + 1, nil
}
