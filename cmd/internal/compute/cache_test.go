package compute

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
)

// openCache opens a cache for the time of a test.
func openCache(t *testing.T, dir string, size int64) *Cache {
	t.Helper()
	c, err := OpenCache(dir, size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestCacheOfAWorker: a command finds what an earlier one has kept of its group, and of no
// other; the worker prefers groups in its cache, also those of an earlier process.
func TestCacheOfAWorker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBench(t, `cat "$ACCESSION_CACHE"/* > {out} 2>/dev/null || echo 0 > {out}; echo 1 >> "$ACCESSION_CACHE/n"`)
	first, err := OpenCache(dir, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	b.w.Cache = first
	result := func(e compute.Entry) string { return strings.TrimSpace(string(b.kept.of[e.ID].Result)) }
	if got := []string{result(b.once("maps")), result(b.once("tides"))}; !slices.Equal(got, []string{"0", "0"}) {
		t.Errorf("new groups have %q in the cache", got)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	b.w.Cache = openCache(t, dir, 1<<20)
	other, same := b.Request("other", "g", 100, "o").State.ID, b.Request("tides", "g", 100, "s").State.ID
	b.w.next(t.Context())
	if at, err := b.Store.LoadEntry(t.Context(), same); err != nil || at.State.State != entry.Successful || result(at.State) != "1" {
		t.Errorf("work on a group in the cache is %+v, %v, with the result %q", at.State, err, result(at.State))
	}
	if at, err := b.Store.LoadEntry(t.Context(), other); err != nil || at.State.State != entry.Pending {
		t.Errorf("other work is %+v, %v", at.State, err)
	}
}

// TestCacheHasASize: the groups used longest ago are removed, but none that a command uses; and
// a directory is one worker's.
func TestCacheHasASize(t *testing.T) {
	t.Parallel()
	c := openCache(t, t.TempDir(), 250)
	fill := func(name string) func() error {
		dir, done, err := c.use(entry.Group{Dataset: name})
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "data"), make([]byte, 100), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	has := func(want ...string) {
		t.Helper()
		for _, name := range []string{"a", "b", "c", "d"} {
			if got := c.has(entry.Group{Dataset: name}); got != slices.Contains(want, name) {
				t.Errorf("%s is there: %v, want only %q", name, got, want)
			}
		}
		entries, err := os.ReadDir(c.dir)
		if err != nil || len(entries) != len(want)+1 { // and the lock
			t.Errorf("%v, %v; want %d directories", entries, err, len(want))
		}
	}
	endA := fill("a")
	for _, name := range []string{"b", "c"} {
		if err := fill(name)(); err != nil {
			t.Fatal(err)
		}
	}
	has("a", "b", "c") // what a command uses is not measured yet
	if err := fill("d")(); err != nil {
		t.Fatal(err)
	}
	has("a", "c", "d")
	if err := endA(); err != nil {
		t.Fatal(err)
	}
	has("a", "d")
	if _, err := OpenCache(c.dir, 250); err == nil || !strings.Contains(err.Error(), "another worker's") {
		t.Errorf("a second worker has the cache: %v", err)
	}
}
