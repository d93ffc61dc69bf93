package zklive_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// TestRequestsOfAClaimOfWork: 10,000 entries that wait cost the claims of a worker not one request more
// than 100 do, neither the first, which lists what waits, nor a later one, which lists nothing; so it
// is where the worker has the data of a younger entry, and where it has none.
// Shows: P8
func TestRequestsOfAClaimOfWork(t *testing.T) {
	t.Parallel()
	few, many := requestsOfClaims(t, 100), requestsOfClaims(t, 10_000)
	if d := cmp.Diff(few, many); d != "" {
		t.Errorf("beside 100 entries and beside 10,000 (-few +many):\n%s", d)
	}
	for n, claim := range few {
		if listed := strings.Contains(strings.Join(claim, "\n"), "list /unowned"); listed != (n == 0) {
			t.Errorf("claim %d lists what waits: %t\n%s", n, listed, strings.Join(claim, "\n"))
		}
	}
}

// sequences are the numbers of entries, of their keys and of the outbox in requests.
var sequences = regexp.MustCompile(`[0-9a-f]{64}|[0-9]{10}|d[0-9]+:`)

// requestsOfClaims returns what each of ten claims asks of ZooKeeper beside so many entries, by a worker
// that has the data of one dataset of ten, and by one that has none.
func requestsOfClaims(t *testing.T, waiting int) (claims [][]string) {
	t.Helper()
	w := &env{root: "/test-" + uuid.NewString()}
	if err := w.open(t, zklive.Config{}).FillEntries(t.Context(), waiting, 10); err != nil {
		t.Fatal(err)
	}
	l := newLoser(t, w.root)
	s, err := zklive.Open(t.Context(), zklive.Config{Servers: l.addresses(), Root: w.root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	k := storetest.NewKit(t, s)
	for n := range 10 {
		wants := compute.Wants{PassLimit: compute.PassLimit}
		if n < 5 {
			wants.Cached = func(g entry.Group) bool { return g.Dataset == "d7" }
		}
		heard := l.hears(func() {
			if _, err := k.Handler.TakeEntry(t.Context(), wants, storetest.Under(nil, false)); err != nil {
				t.Fatal(err)
			}
		})
		heard = slices.DeleteFunc(heard, timed)
		for i, request := range heard {
			heard[i] = sequences.ReplaceAllString(request, "N")
		}
		slices.Sort(heard)
		claims = append(claims, heard)
	}
	return claims
}

// timed reports whether a request is made at intervals, whatever is claimed or grabbed.
func timed(request string) bool { return request == "list /workers" || request == "exists /unowned" }
