package recovery

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// HighWaterMark keeps the round of the last high-water mark, a highwater.Mark.
type HighWaterMark struct {
	conn *session.Conn
	root layout.Root
}

// NewHighWaterMark returns the high-water mark of a tree.
func NewHighWaterMark(conn *session.Conn, root layout.Root) *HighWaterMark {
	return &HighWaterMark{conn, root}
}

// HighWater returns the round of the last mark, 0 = none was made yet, and the epoch.
func (x *HighWaterMark) HighWater(ctx context.Context) (round, epoch int64, err error) {
	if err := x.conn.Sync(ctx); err != nil {
		return 0, 0, err
	}
	for path, to := range map[string]*int64{x.root.HighWater(): &round, x.root.Epoch(): &epoch} {
		if _, err := x.conn.GetJSON(ctx, path, to); err != nil {
			return 0, 0, &eventstore.Error{Op: "read the high-water mark", Err: err}
		}
	}
	return round, epoch, nil
}

// RaiseHighWater keeps a round, unless there is a later one.
func (x *HighWaterMark) RaiseHighWater(ctx context.Context, round int64) error {
	for {
		var now int64
		stat, err := x.conn.GetJSON(ctx, x.root.HighWater(), &now)
		if err == nil && now < round {
			_, err = x.conn.Set(ctx, "zklive/high-water/raise", x.root.HighWater(), layout.Encode(round), stat.Version)
		}
		if errors.Is(err, zk.ErrBadVersion) {
			continue
		}
		if err != nil {
			err = &eventstore.Error{Op: "raise the high-water mark", Err: err}
		}
		return err
	}
}
