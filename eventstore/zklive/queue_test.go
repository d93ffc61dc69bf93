package zklive

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
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

// TestLockedWorkIsTriedSeldom: others hold many jobs for long, which come before all that is
// free, and the server is slow, so that trying all of them takes longer than the first of them
// is set aside. What is free is claimed all the same.
// Shows: P8
func TestLockedWorkIsTriedSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const others, free, answer = 300, 300, 50 * time.Millisecond
		x := newIndex()
		for i := range others + free {
			x.add(fair.Item{ID: fmt.Sprintf("%06d", i), Rank: 5})
		}
		began, tried, taken := time.Now(), 0, 0
		for taken < free {
			if time.Since(began) > time.Hour {
				t.Fatalf("%d of %d are taken after an hour, and %d locked ones were tried", taken, free, tried)
			}
			e, ok, wait := x.pop(gate{})
			if !ok {
				<-wait
				continue
			}
			if <-time.After(answer); e.ID < fmt.Sprintf("%06d", others) { // the server answers
				x.setLocked(e)
				tried++
				continue
			}
			taken++
		}
		if limit := 10 * others; tried > limit {
			t.Errorf("%d locked ones were tried before all was taken, want at most %d", tried, limit)
		}
		x.restore(true) // a worker has ended: all may be free now
		for range others {
			e, ok, _ := x.pop(gate{})
			if !ok {
				t.Fatal("a worker has ended, and what was locked is not tried")
			}
			x.setLocked(e)
		}
		if until := time.Until(x.aside["000000"].due); until != lockedDelay {
			t.Errorf("locked anew, it is set aside for %v, want %v", until, lockedDelay)
		}
	})
}
