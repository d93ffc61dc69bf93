package recent_test

import (
	"testing"

	"github.com/accession-ingest/accession/eventstore/internal/recent"
)

// What is used stays, what is not used for long goes, and the map does not grow.
func TestMap(t *testing.T) {
	t.Parallel()
	const limit = 100
	m := recent.New[int, int](limit)
	m.Set(0, 5)
	for n := 1; n <= 3*limit; n++ {
		m.Set(n, n)
		if v, ok := m.Get(0); !ok || v != 5 {
			t.Fatalf("what is used all the time was forgotten after %d others", n)
		}
		if m.Len() > 2*limit {
			t.Fatalf("%d entries are kept", m.Len())
		}
		if m.Forgot() && n < 2*limit-1 {
			t.Fatalf("forgot after %d entries", n)
		}
	}
	if _, ok := m.Get(1); ok || !m.Forgot() {
		t.Error("what was not used for long is still there")
	}
	if _, ok := m.Get(2*limit + 2); !ok {
		t.Error("what was used lately was forgotten")
	}
	if m.Delete(0); m.Len() == 0 {
		t.Error("all is gone")
	}
	if _, ok := m.Get(0); ok {
		t.Error("a deleted key is there")
	}
}
