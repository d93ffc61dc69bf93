package files

import "testing"

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
}
