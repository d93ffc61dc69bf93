package zklive_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// TestRequestsOfAGrab counts what one grab asks of ZooKeeper: at most seven reads, one of
// them only until the process has read what waits of the user, and one multi of at most 16
// operations, the event among them.
// Shows: P8
func TestRequestsOfAGrab(t *testing.T) {
	t.Parallel()
	k, other, l := grabbers(t)
	k.Deposits("ana1 ana2 ana3 ana4 ben1 ben2 ben3 cleo1")
	k.Grab() // reads the ring, and ana's
	known := []string{"get /batches/BID/progress", "get /batches/BID/status", "get /batches/BID/status-report", "get /batches/BID/submission",
		"get /queues/metadata/ring"}
	for _, c := range []struct {
		before     func()
		user       string
		reads      []string // beside those above
		operations int
	}{
		{func() {}, "ben", []string{"get /queues/metadata/running/ben", "list /queues/metadata/users/0000000002-ben"}, 11},
		{func() {}, "cleo", []string{"get /queues/metadata/running/cleo", "list /queues/metadata/users/0000000003-cleo"}, 13}, // leaves the ring
		{func() {}, "ana", []string{"get /queues/metadata/running/ana"}, 11},
		{func() { other.Grab() }, "ana", []string{"get /queues/metadata/running/ana"}, 11}, // another process has grabbed ben's
		{func() {}, "ben", []string{"get /queues/metadata/running/ben"}, 13},
		{func() {}, "ana", []string{"get /queues/metadata/running/ana"}, 13},
	} {
		c.before()
		var user string
		all := l.hears(func() { user = k.Grab().State.Submission.Submitter })
		slices.SortFunc(all, func(a, b string) int { return strings.Count(a, ", ") - strings.Count(b, ", ") })
		write, reads := all[len(all)-1], all[:len(all)-1]
		slices.Sort(reads)
		if user != c.user {
			t.Fatalf("grabbed %s's, want %s's", user, c.user)
		}
		if d := cmp.Diff(slices.Sorted(slices.Values(slices.Concat(known, c.reads))), reads); d != "" || len(reads) > 7 {
			t.Errorf("%s: %d reads (-want +got):\n%s", user, len(reads), d)
		}
		if n := strings.Count(write, ", ") + 1; n != c.operations || n > 16 {
			t.Errorf("%s: %d operations, want %d: %s", user, n, c.operations, write)
		}
	}
}

// grabbers returns two processes, the first behind a proxy that counts.
func grabbers(t *testing.T) (k, other *storetest.Kit, l *loser) {
	t.Helper()
	w := &env{root: "/test-" + uuid.NewString()}
	l = newLoser(t, w.root)
	s, err := zklive.Open(t.Context(), zklive.Config{Servers: l.addresses(), Root: w.root, GroupCommit: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return storetest.NewRingKit(t, s), storetest.NewRingKit(t, w.open(t, zklive.Config{GroupCommit: true})), l
}

// TestForestalledGrabReadsNoList: a process whose grab another one forestalls reads in the ring
// what that one did, and not again what waits of the user, which may be much.
// Shows: P8
func TestForestalledGrabReadsNoList(t *testing.T) {
	t.Parallel()
	k, other, l := grabbers(t)
	k.Deposits("ana1 ana2 ana3 ana4 ana5")
	k.Grab()
	other.Grab()
	k.Grab() // both know what waits of ana
	var faster domain.BatchID
	races := 0
	l.before(func(request string) {
		if strings.Contains(request, "set /queues/metadata/ring") {
			if races++; races == 1 {
				faster = other.Grab().State.ID
			}
		}
	})
	var got domain.BatchID
	all := l.hears(func() { got = k.Grab().State.ID })
	l.before(nil)
	if races != 2 || got == faster || faster == "" {
		t.Errorf("%d tries, grabbed %s, and the other one %s", races, got, faster)
	}
	for _, request := range all {
		if strings.HasPrefix(request, "list ") {
			t.Errorf("after a lost race: %s", request)
		}
	}
}
