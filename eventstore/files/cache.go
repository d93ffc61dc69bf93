package files

import (
	"sync"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/internal/recent"
	"github.com/accession-ingest/accession/internal/crash"
)

// cached is the least number of files that are kept; the largest is twice that.
const cached = 20_000

// cache keeps the files that were last used. It only saves reads: a decision on an
// outdated state is refused by the log, and made again.
type cache struct {
	mu    sync.Mutex
	files *recent.Map[domain.FileHash, knownFile]
}

func (c *cache) get(hash domain.FileHash) (knownFile, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		return knownFile{}, false
	}
	return c.files.Get(hash)
}

// put keeps a state unless a later one is known, or the file is done: then it is hardly
// asked for again.
func (c *cache) put(hash domain.FileHash, at knownFile) {
	at.ofCommand = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = recent.New[domain.FileHash, knownFile](crash.Remembered(cached))
	}
	switch known, _ := c.files.Get(hash); {
	case known.seq > at.seq:
	case at.file.State == domain.FileProcessed:
		c.files.Delete(hash)
	default:
		c.files.Set(hash, at)
	}
}
