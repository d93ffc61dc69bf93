package files

import (
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// TestCache: the cache never goes back to an older state.
// Shows: P8
func TestCache(t *testing.T) {
	t.Parallel()
	var c cache[domain.File]
	a := domain.FileHash("a").Aggregate()
	if _, ok := c.get(a); ok {
		t.Fatal("an empty cache knows a file")
	}
	c.put(a, known[domain.File]{seq: 5}, false)
	c.put(a, known[domain.File]{seq: 4}, false)
	if at, ok := c.get(a); !ok || at.seq != 5 {
		t.Fatalf("%t, sequence %d", ok, at.seq)
	}
	c.put(a, known[domain.File]{seq: 4}, true)
	if _, ok := c.get(a); !ok {
		t.Error("an older state removed a newer one")
	}
	c.put(a, known[domain.File]{seq: 6}, true)
	if at, ok := c.get(a); ok {
		t.Errorf("a file that is done is kept: %+v", at)
	}
}
