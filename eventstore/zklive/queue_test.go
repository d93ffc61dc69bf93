package zklive

import (
	"slices"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain/fair"
)

// What was released for a time comes behind all that waited then, and before what came
// later; what was locked keeps its place. The end of a session does not bring what was
// released back before its time.
// Shows: P11
func TestReleasedWorkComesBehind(t *testing.T) {
	t.Parallel()
	x := newIndex()
	for _, id := range []string{"a", "b", "c", "d"} {
		x.add(fair.Item{ID: id, Rank: 5})
	}
	pop := func() fair.Item {
		t.Helper()
		e, ok, _ := x.pop(gate{})
		if !ok {
			t.Fatal("nothing waits")
		}
		return e
	}
	x.release(pop(), time.Nanosecond)
	x.restore(false)
	x.release(pop(), time.Hour)
	x.setAside(pop(), time.Hour)
	x.restore(true)
	x.add(fair.Item{ID: "e", Rank: 5})
	x.add(fair.Item{ID: "f", Rank: 1})
	var got []string
	for range 5 {
		got = append(got, pop().ID)
	}
	if want := []string{"f", "c", "d", "a", "e"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if e, ok, _ := x.pop(gate{}); ok {
		t.Errorf("%s came back an hour early", e.ID)
	}
	x.release(fair.Item{ID: "a", Rank: 5}, 0)
	x.add(fair.Item{ID: "b", Rank: 5})
	if e := pop(); e.ID != "a" {
		t.Errorf("released at once, and %s came before it", e.ID)
	}
}
