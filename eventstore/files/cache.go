package files

import (
	"sync"

	"github.com/accession-ingest/accession/domain"
)

// fileCache keeps the files that were last used. It only spares reading: whoever
// decides on an outdated state is refused by the log, and loads.
type fileCache struct {
	mu         sync.Mutex
	young, old map[domain.FileHash]knownFile
}

// fileGeneration is how many files are kept at least; twice as many at most.
const fileGeneration = 20_000

func (c *fileCache) get(hash domain.FileHash) (knownFile, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.young[hash]
	if !ok {
		if at, ok = c.old[hash]; ok {
			c.set(hash, at)
		}
	}
	return at, ok
}

// put keeps a state unless a later one is known.
func (c *fileCache) put(hash domain.FileHash, at knownFile) {
	at.mine = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range []map[domain.FileHash]knownFile{c.young, c.old} {
		if m[hash].seq > at.seq {
			return
		}
	}
	c.set(hash, at)
}

// set puts into the young generation; when that is full it becomes the old one,
// and the old one goes.
func (c *fileCache) set(hash domain.FileHash, at knownFile) {
	if _, there := c.young[hash]; !there && len(c.young) >= fileGeneration || c.young == nil {
		c.young, c.old = make(map[domain.FileHash]knownFile), c.young
	}
	c.young[hash] = at
}
