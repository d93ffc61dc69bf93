package files

import (
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// TestCache: the cache never goes back to an older state.
// Shows: P8
func TestCache(t *testing.T) {
	t.Parallel()
	var c cache
	if _, ok := c.get("a"); ok {
		t.Fatal("an empty cache knows a file")
	}
	c.put("a", knownFile{seq: 5})
	c.put("a", knownFile{seq: 4})
	if at, ok := c.get("a"); !ok || at.seq != 5 {
		t.Fatalf("%t, sequence %d", ok, at.seq)
	}
	c.put("a", knownFile{file: domain.File{State: domain.FileProcessed}, seq: 4})
	if _, ok := c.get("a"); !ok {
		t.Error("an older state removed a newer one")
	}
	c.put("a", knownFile{file: domain.File{State: domain.FileProcessed}, seq: 6})
	if at, ok := c.get("a"); ok {
		t.Errorf("a file that is done is kept: %+v", at)
	}
}
