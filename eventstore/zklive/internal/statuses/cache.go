// Package statuses reads the statuses of batches and queries: [Cache] remembers those of
// batches, and [Unended] counts the deposits that have not ended.
package statuses

import (
	"context"
	"errors"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// Cache keeps the token under which a batch's status was last read. With it a
// claim of a job proves, without a read, that the job's batch is not deleted; if the
// status is outdated the claim is refused and the status is read again.
type Cache struct {
	conn  *session.Conn
	root  layout.Root
	mu    sync.Mutex
	known map[domain.BatchID]Status
}

// NewCache returns a cache of the statuses of a tree.
func NewCache(conn *session.Conn, root layout.Root) *Cache {
	return &Cache{conn: conn, root: root, known: map[domain.BatchID]Status{}}
}

// Status is the status of a batch as it was read last.
type Status struct {
	State   domain.BatchState
	Version int64
	Token   eventstore.Token
}

// statusLimit bounds the cache; emptying it costs one read a batch.
const statusLimit = 20_000

// Alive returns the status of a batch, from the cache if it has it. A deleted batch is
// not found.
func (c *Cache) Alive(ctx context.Context, id domain.BatchID) (Status, error) {
	c.mu.Lock()
	k, there := c.known[id]
	c.mu.Unlock()
	if !there {
		var st layout.BatchStatus
		stat, err := c.conn.GetJSON(ctx, c.root.BatchStatus(id), &st)
		if err != nil {
			if errors.Is(err, zk.ErrNoNode) {
				err = eventstore.ErrNotFound
			}
			return k, &eventstore.Error{Op: "load", Aggregate: id.Aggregate(), Err: err}
		}
		k = Status{st.Status, st.Version, eventstore.Token(stat.Version)}
		c.Put(id, k)
	}
	if k.State == domain.BatchDeleted {
		return k, &eventstore.Error{Op: "load", Aggregate: id.Aggregate(), Err: eventstore.ErrNotFound, Hint: "it is deleted"}
	}
	return k, nil
}

// Put keeps a status, unless a newer one is known.
func (c *Cache) Put(id domain.BatchID, k Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[id].Version > k.Version {
		return
	}
	if len(c.known) >= statusLimit {
		clear(c.known)
	}
	c.known[id] = k
}

// DropOlder drops what is older than the version.
func (c *Cache) DropOlder(id domain.BatchID, version int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[id].Version < version {
		delete(c.known, id)
	}
}

// Forget drops the status of a batch.
func (c *Cache) Forget(id domain.BatchID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, id)
}
