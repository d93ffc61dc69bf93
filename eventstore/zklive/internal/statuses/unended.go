package statuses

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

const (
	// refreshEvery is how long the batches that were found to have ended are remembered.
	refreshEvery = 10 * time.Second
	// parallel is how many statuses are read at once.
	parallel = 32
)

// Unended counts the batches that have neither failed nor completed, and the queries that
// are neither answered nor failed. Their statuses are read for it, but only while all
// together reach the limit, and at intervals. It is safe for concurrent use.
type Unended struct {
	conn  *session.Conn
	root  layout.Root
	limit int

	mu    sync.Mutex
	ended map[string]bool // batches and queries that had ended when last read
	last  time.Time       // when that was
}

// NewUnended returns the count of the batches and queries of a tree.
func NewUnended(conn *session.Conn, root layout.Root, limit int) *Unended {
	return &Unended{conn: conn, root: root, limit: limit}
}

// Count returns how many of all batches and queries have not ended, or all if that is
// below the limit. One that ends counts for up to ten seconds more; a batch
// that has ended does not count again while its second report is made.
func (c *Unended) Count(ctx context.Context, all int) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if all < c.limit {
		c.ended, c.last = nil, time.Time{}
		return all, nil
	}
	if time.Since(c.last) >= refreshEvery {
		if err := c.refresh(ctx); err != nil {
			return 0, err
		}
	}
	return max(all-len(c.ended), 0), nil
}

// refresh reads the statuses of those that were not known to have ended. The caller holds
// mu.
func (c *Unended) refresh(ctx context.Context) error {
	ended := map[string]bool{}
	for _, dir := range []struct {
		path  string
		ended func(ctx context.Context, id string) (bool, error)
	}{{c.root.Batches(), c.batchEnded}, {c.root.Queries(), c.queryEnded}} {
		listed, err := c.conn.Children(ctx, dir.path)
		if err != nil {
			return err
		}
		is := make([]bool, len(listed.Names))
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(parallel)
		for i, id := range listed.Names {
			if is[i] = c.ended[id]; is[i] {
				continue
			}
			g.Go(func() (err error) {
				is[i], err = dir.ended(gctx, id)
				if session.Answered(err) || errors.Is(err, eventstore.ErrBroken) {
					return nil // gone, or not readable: that one counts
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for i, id := range listed.Names {
			if is[i] {
				ended[id] = true
			}
		}
	}
	c.ended, c.last = ended, time.Now()
	return nil
}

func (c *Unended) batchEnded(ctx context.Context, id string) (bool, error) {
	var status layout.BatchStatus
	_, err := c.conn.GetJSON(ctx, c.root.BatchStatus(domain.BatchID(id)), &status)
	return err == nil && (status.Status == domain.BatchFailed || status.Status == domain.BatchCompleted), err
}

func (c *Unended) queryEnded(ctx context.Context, id string) (bool, error) {
	var status layout.QueryStatus
	_, err := c.conn.GetJSON(ctx, c.root.QueryStatus(domain.QueryID(id)), &status)
	return err == nil && status.Status.Ended(), err
}
