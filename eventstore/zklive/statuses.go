package zklive

import (
	"context"
	"sync"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

// statusCache keeps the token under which a batch's status was last read. With it a
// claim of a job proves, without a read, that the job's batch is not deleted; if the
// status is outdated the claim is refused and the status is read again.
type statusCache struct {
	reader *reader
	mu     sync.Mutex
	known  map[domain.BatchID]knownStatus
}

type knownStatus struct {
	state   domain.BatchState
	version int64
	token   eventstore.Token
}

// statusLimit bounds the cache; emptying it costs one read a batch.
const statusLimit = 20_000

// alive returns the status of a batch, from the cache if it has it. A deleted batch is
// not found.
func (c *statusCache) alive(ctx context.Context, id domain.BatchID) (knownStatus, error) {
	c.mu.Lock()
	k, there := c.known[id]
	c.mu.Unlock()
	if !there {
		var st layout.BatchStatus
		stat, err := c.reader.conn.GetJSON(ctx, c.reader.root.BatchStatus(id), &st)
		if err != nil {
			return k, notFound("load", id.Aggregate(), err)
		}
		k = knownStatus{st.Status, st.Version, eventstore.Token(stat.Version)}
		c.put(id, k)
	}
	if k.state == domain.BatchDeleted {
		return k, &eventstore.Error{Op: "load", Aggregate: id.Aggregate(), Err: eventstore.ErrNotFound, Hint: "it is deleted"}
	}
	return k, nil
}

// put keeps a status, unless a newer one is known.
func (c *statusCache) put(id domain.BatchID, k knownStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[id].version > k.version {
		return
	}
	if len(c.known) >= statusLimit {
		clear(c.known)
	}
	c.known[id] = k
}

// dropOlder drops what is older than the version.
func (c *statusCache) dropOlder(id domain.BatchID, version int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[id].version < version {
		delete(c.known, id)
	}
}

func (c *statusCache) forget(id domain.BatchID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, id)
}
