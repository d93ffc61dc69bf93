package files

import (
	"sync"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/internal/recent"
	"github.com/accession-ingest/accession/internal/crash"
)

// cached is the least number of aggregates that are kept; the largest is twice that.
const cached = 20_000

// cache keeps the aggregates that were last used. It only saves reads: a decision on an
// outdated state is refused by the log, and made again.
type cache[S any] struct {
	mu     sync.Mutex
	states *recent.Map[domain.Aggregate, known[S]]
}

func (c *cache[S]) get(a domain.Aggregate) (known[S], bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.states == nil {
		return known[S]{}, false
	}
	return c.states.Get(a)
}

// put keeps a state unless a later one is known, or the aggregate is done: then it is
// hardly asked for again.
func (c *cache[S]) put(a domain.Aggregate, at known[S], done bool) {
	at.ofCommand = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.states == nil {
		c.states = recent.New[domain.Aggregate, known[S]](crash.Remembered(cached))
	}
	switch old, _ := c.states.Get(a); {
	case old.seq > at.seq:
	case done:
		c.states.Delete(a)
	default:
		c.states.Set(a, at)
	}
}
