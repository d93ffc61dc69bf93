package zklive

import (
	"context"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// ids allots the numbers of batches and jobs.
type ids struct {
	conn *session.Conn
	root layout.Root
}

// ReserveBatchID implements eventstore.Catalog.
func (x *ids) ReserveBatchID(ctx context.Context) (domain.BatchID, error) {
	n, err := x.reserve(ctx, "bid", 1)
	return domain.NewBatchID(n), err
}

// ReserveJobIDs implements eventstore.Catalog.
func (x *ids) ReserveJobIDs(ctx context.Context, n int) (domain.JobID, error) {
	first, err := x.reserve(ctx, "jid", n)
	return domain.NewJobID(first), err
}

// reserve takes n numbers by one versioned write. If its outcome is unknown the numbers
// stay unused.
func (x *ids) reserve(ctx context.Context, kind string, n int) (int64, error) {
	first, err := x.conn.Add(ctx, "zklive/ids/reserve", x.root.IDs(kind), int64(n), domain.MaxID+1)
	if err != nil {
		return 0, &eventstore.Error{Op: "reserve ids", Err: err}
	}
	return first, nil
}
