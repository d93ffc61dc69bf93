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

// Unended counts the batches that have neither failed nor completed. Their statuses are
// read for it, but only while all batches together reach the limit, and at intervals. It
// is safe for concurrent use.
type Unended struct {
	conn  *session.Conn
	root  layout.Root
	limit int

	mu    sync.Mutex
	ended map[domain.BatchID]bool // failed or completed when last read
	last  time.Time               // when that was
}

// NewUnended returns the count of the batches of a tree.
func NewUnended(conn *session.Conn, root layout.Root, limit int) *Unended {
	return &Unended{conn: conn, root: root, limit: limit}
}

// Count returns how many of all batches have neither failed nor completed, or all if
// that is below the limit. A batch that ends counts for up to ten seconds more; one that
// has ended does not count again while its second report is made.
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

// refresh reads the statuses of the batches that were not known to have ended. The caller
// holds mu.
func (c *Unended) refresh(ctx context.Context) error {
	listed, err := c.conn.Children(ctx, c.root.Batches())
	if err != nil {
		return err
	}
	ended := make([]bool, len(listed.Names))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, name := range listed.Names {
		id := domain.BatchID(name)
		if ended[i] = c.ended[id]; ended[i] {
			continue
		}
		g.Go(func() error {
			var status layout.BatchStatus
			_, err := c.conn.GetJSON(gctx, c.root.BatchStatus(id), &status)
			ended[i] = err == nil && (status.Status == domain.BatchFailed || status.Status == domain.BatchCompleted)
			if session.Answered(err) || errors.Is(err, eventstore.ErrBroken) {
				return nil // gone, or not readable: that one counts
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	c.ended, c.last = map[domain.BatchID]bool{}, time.Now()
	for i, name := range listed.Names {
		if ended[i] {
			c.ended[domain.BatchID(name)] = true
		}
	}
	return nil
}
