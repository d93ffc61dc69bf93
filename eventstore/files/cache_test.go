package files

import (
	"fmt"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// The cache never goes back to an older state, keeps what is used, and does not
// grow without end.
// Shows: P8
func TestFileCache(t *testing.T) {
	t.Parallel()
	var c fileCache
	hash := func(n int) domain.FileHash { return domain.FileHash(fmt.Sprint(n)) }
	c.put(hash(0), knownFile{seq: 5})
	c.put(hash(0), knownFile{seq: 4})
	if at, ok := c.get(hash(0)); !ok || at.seq != 5 {
		t.Fatalf("%t, place %d", ok, at.seq)
	}
	for n := 1; n <= 3*fileGeneration; n++ {
		c.put(hash(n), knownFile{seq: uint64(n + 5)})
		if _, ok := c.get(hash(0)); !ok {
			t.Fatalf("what is used all the time was forgotten after %d others", n)
		}
		if all := len(c.young) + len(c.old); all > 2*fileGeneration {
			t.Fatalf("%d files are kept", all)
		}
	}
	if _, ok := c.get(hash(1)); ok {
		t.Error("what was not used for long is still there")
	}
	if _, ok := c.get(hash(3*fileGeneration - fileGeneration + 1)); !ok {
		t.Error("what was used lately was forgotten")
	}
}
