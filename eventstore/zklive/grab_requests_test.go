package zklive_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
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
		user, reads, operations := l.grabs(k)
		if user != c.user {
			t.Fatalf("grabbed %s's, want %s's", user, c.user)
		}
		if d := cmp.Diff(slices.Sorted(slices.Values(slices.Concat(readsOfAGrab, c.reads))), reads); d != "" || len(reads) > 7 {
			t.Errorf("%s: %d reads (-want +got):\n%s", user, len(reads), d)
		}
		if n := len(operations); n != c.operations || n > 16 {
			t.Errorf("%s: %d operations, want %d: %s", user, n, c.operations, operations)
		}
	}
}

// readsOfAGrab are those of every grab, beside that of the user's number of running batches.
var readsOfAGrab = []string{"get /batches/BID/progress", "get /batches/BID/status", "get /batches/BID/status-report", "get /batches/BID/submission",
	"get /queues/metadata/ring"}

// TestRequestsOfAGrabBesideMany: 2,000 waiting batches of 50 users cost a grab not one request
// or operation more than a few do.
// Shows: P8
func TestRequestsOfAGrabBesideMany(t *testing.T) {
	t.Parallel()
	const waiting, users = 2000, 50
	k, _, l := grabbers(t)
	if err := k.Store.Live.(*zklive.Store).FillWaiting(t.Context(), waiting, users, userOf); err != nil {
		t.Fatal(err)
	}
	k.Grab() // reads the ring, and who waits of the first user
	for n := 1; n < users+10; n++ {
		user, reads, operations := l.grabs(k)
		if want := userOf(n % users); user != want {
			t.Fatalf("grab %d: grabbed %s's, want %s's", n, user, want)
		}
		want := append(slices.Clone(readsOfAGrab), "get /queues/metadata/running/"+user)
		if n < users { // the first of the user
			want = append(want, fmt.Sprintf("list /queues/metadata/users/%010d-%s", n+1, user))
		}
		slices.Sort(want)
		if d := cmp.Diff(want, reads); d != "" || len(reads) > 7 {
			t.Errorf("grab %d: %d reads (-want +got):\n%s", n, len(reads), d)
		}
		if len(operations) != 11 {
			t.Errorf("grab %d: %d operations, want 11: %s", n, len(operations), operations)
		}
	}
}

// grabs lets a process grab, and returns of which user, what it read and the operations of its
// write.
func (l *loser) grabs(k *storetest.Kit) (user string, reads, operations []string) {
	all := l.hears(func() { user = k.Grab().State.Submission.Submitter })
	slices.SortFunc(all, func(a, b string) int { return strings.Count(a, ", ") - strings.Count(b, ", ") })
	reads = slices.DeleteFunc(slices.Clone(all[:len(all)-1]), timed)
	slices.Sort(reads)
	return user, reads, strings.Split(all[len(all)-1], ", ")
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
		if strings.HasPrefix(request, "list ") && !timed(request) {
			t.Errorf("after a lost race: %s", request)
		}
	}
}

// TestGrabWithOutdatedSettings: while a process has not heard that the settings of a deposit
// queue have changed, it passes over no user because of it.
// Shows: P11
func TestGrabWithOutdatedSettings(t *testing.T) {
	t.Parallel()
	const many = 25 // refusals
	k, other, l := grabbers(t)
	k.Deposits("ana1 ana2 ben1 ben2")
	k.Grab() // ana's, and reads the settings
	tell := l.mutes("/queues/metadata/config")
	four := 4
	if _, err := other.Handler.QueueSetting(t.Context(), domain.SettingUserLimit, domain.UserLimitName(fair.QueueMetadata, "cleo"),
		func(domain.SettingValue) domain.SettingValue {
			return domain.SettingValue{UserLimit: &domain.UserLimit{Allocation: &four}}
		}, "a test", storetest.Operator()); err != nil {
		t.Fatal(err)
	}
	waits := make(chan struct{})
	refused, looks := 0, 0
	l.before(func(request string) {
		if strings.Contains(request, "set /queues/metadata/ring") {
			refused++
		}
		if request == "exists /queues/metadata/config" {
			looks++
		}
		if refused == many || looks == 2 {
			close(waits)
			l.before(nil)
		}
	})
	grabbed := make(chan string)
	go func() { grabbed <- k.Grab().State.Submission.Submitter }()
	<-waits
	tell()
	if user := <-grabbed; user != "ben" || refused == many {
		t.Errorf("grabbed %s's, after %d refusals", user, refused)
	}
}

// TestGrabOfTheLastWhileAnotherComes: a process that has not heard of a user's further deposit
// tries to take the user out of the ring with the last one it knows, is refused, and serves the
// user in turn with what there is.
// Shows: P1 P11
func TestGrabOfTheLastWhileAnotherComes(t *testing.T) {
	t.Parallel()
	k, other, l := grabbers(t)
	names := k.Deposits("ana1 ben1")
	grabs := 0
	l.before(func(request string) {
		if strings.Contains(request, "set /queues/metadata/ring") {
			if grabs++; grabs == 1 {
				maps.Copy(names, other.Deposits("ana2"))
			}
		}
	})
	var got []string
	for range 3 {
		got = append(got, names[k.Grab().State.ID])
	}
	if want := "ana1 ben1 ana2"; strings.Join(got, " ") != want || grabs < 4 {
		t.Errorf("grabbed %s in %d tries, want %s", got, grabs, want)
	}
}
