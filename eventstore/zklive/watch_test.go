package zklive_test

import (
	"bytes"
	"regexp"
	"runtime/pprof"
	"strconv"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// TestHoldsHaveOneWatch: holds that are read again and again, because claims are refused or
// a queue is paused, leave no watch behind each time; a change is heard of all the same.
// Shows: P8
func TestHoldsHaveOneWatch(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	const rounds = 300
	before := watches(t)
	for range rounds {
		w.store.DropHolds()
		if _, err := w.store.Holds(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if more := watches(t) - before; more > rounds/2 { // those of other tests come and go
		t.Errorf("%d goroutines more wait for a change after %d readings", more, rounds)
	}
	other := storetest.NewKit(t, w.open(t, zklive.Config{}))
	for _, by := range []string{"ana", "", "ben", ""} {
		other.Hold(domain.HoldQueue, domain.QueueIngest, by)
		tick := time.NewTicker(10 * time.Millisecond)
		for end := time.Now().Add(time.Minute); ; <-tick.C {
			h, err := w.store.Holds(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if h.Queues[domain.QueueIngest].By == by {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("the hold by %q is not heard of: %+v", by, h)
			}
		}
		tick.Stop()
	}
}

var watching = regexp.MustCompile(`(?m)^(\d+) @(?: 0x[0-9a-f]+)*\n(?:#.*\n)*?#.*session\.\(\*Watched\)`)

// watches counts the goroutines that wait for a change of a watched node.
func watches(t *testing.T) (n int) {
	t.Helper()
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		t.Fatal(err)
	}
	for _, m := range watching.FindAllSubmatch(all.Bytes(), -1) {
		k, err := strconv.Atoi(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		n += k
	}
	return n
}
