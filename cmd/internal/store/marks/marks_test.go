package marks

import (
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain/highwater"
)

// The highest mark counts, whatever a process writes late; those before the last one go.
func TestHighWater(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	m := Marks{s}
	has := func(want highwater.Mark) {
		t.Helper()
		if is, err := m.HighWater(t.Context()); err != nil || is != want {
			t.Errorf("it is %+v, %v, want %+v", is, err, want)
		}
	}
	has(highwater.Mark{})
	mark := func(round int64, seq uint64) highwater.Mark {
		return highwater.Mark{Round: round, Epoch: 1, LogSeq: seq, Batch: "bid0000000001"}
	}
	for round := range int64(12) {
		if err := m.KeepHighWater(t.Context(), mark(round+1, 5)); err != nil {
			t.Fatal(err)
		}
		has(mark(round+1, 5))
	}
	for _, late := range []highwater.Mark{mark(12, 4), mark(3, 1)} {
		if err := m.KeepHighWater(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		has(mark(12, 5))
	}
	if err := m.KeepHighWater(t.Context(), mark(13, 6)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range s.List(t.Context(), prefix) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 2 {
		t.Errorf("%d marks are kept, want 2", n)
	}
}
