package e2e

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
)

// TestServedInTurnWhileProcessesAreKilled deposits for a user with many batches and for
// one with few, and kills one of three processes again and again meanwhile. By the events,
// each is grabbed once, in the order of the turns; the user with few is served once a lap;
// and no user has more running than may.
// Shows: P1 P11
func TestServedInTurnWhileProcessesAreKilled(t *testing.T) {
	t.Parallel()
	const many, few, kills = 40, 3, 6
	random := seed(t)
	in := newForProcesses(t, "attempts: 20, timeout: 60s", "zookeeper_session_timeout=2s")
	f := newFiles(t, 1, -1)
	user := map[domain.BatchID]string{}
	for i := range many {
		user[in.depositBy("mal", f.URL+fmt.Sprintf("/file/%d", i), domain.TypeFile)] = "mal"
	}
	for i := range few {
		user[in.depositBy("ana", f.URL+fmt.Sprintf("/file/%d", many+i), domain.TypeFile)] = "ana"
	}
	running := []*service{in.serve(), in.serve(), in.serve()}
	at := uint64(1)
	for range kills {
		until := at + 5 + random.Uint64N(60)
		at = in.await("some more events", 0, func(r domain.Recorded) bool { return r.Seq >= until }).Seq
		i := random.IntN(len(running))
		running[i].kill()
		running[i] = in.serve()
	}
	reported := 0
	in.await("all reports", 0, func(r domain.Recorded) bool {
		if r.Type == domain.EventBatchCompleted {
			reported++
		}
		return reported == many+few
	})
	for _, s := range running {
		s.stop()
	}
	in.proven()
	in.whole(many + few)
	in.grabbedInTurn(user)
}

// grabbedInTurn checks the grabs in the log: one of each batch, without a gap in the turns,
// and, as long as both users wait, never two of one user while the other may be served.
func (in *installation) grabbedInTurn(user map[domain.BatchID]string) {
	in.t.Helper()
	turns, running, grabs, freed := map[int64]domain.BatchID{}, map[string]int{}, map[domain.BatchID]int{}, map[domain.BatchID]bool{}
	all := in.history()
	slices.SortStableFunc(all, func(a, b domain.Recorded) int { return cmp.Compare(a.Zxid, b.Zxid) }) // as they were committed
	for _, r := range all {
		id := domain.BatchID(r.Aggregate.ID)
		switch d := r.Data.(type) {
		case *domain.BatchGrabbed:
			grabs[id]++
			turns[d.Ring.Turn] = id
			if running[user[id]]++; running[user[id]] > fair.DefaultConcurrency {
				in.t.Errorf("turn %d: %d of %s run", d.Ring.Turn, running[user[id]], user[id])
			}
		case *domain.BatchFreed:
			freed[id] = true
			running[user[id]]--
		case *domain.BatchReport:
			if !freed[id] {
				running[user[id]]--
			}
		}
	}
	in.t.Logf("%d places were freed before the report", len(freed))
	for id := range user {
		if grabs[id] != 1 {
			in.t.Errorf("%s was grabbed %d times", id, grabs[id])
		}
	}
	waiting := map[string]int{}
	for _, of := range user {
		waiting[of]++
	}
	last, row := "", 0
	for turn := int64(1); turn <= int64(len(user)); turn++ {
		of := user[turns[turn]]
		if of == "" {
			in.t.Fatalf("there is no turn %d: %v", turn, turns)
		}
		if waiting[of]--; of == last {
			row++
		} else {
			last, row = of, 1
		}
		if row > 1 && waiting["ana"] > 0 && of == "mal" {
			in.t.Errorf("turn %d: mal is served again while %d of ana wait", turn, waiting["ana"])
		}
	}
}

// beforeRings makes the tree one of the format before deposit queues, as an older program
// has made it: batches are claimed without being grabbed.
func (in *installation) beforeRings() *installation {
	in.t.Helper()
	conn, _, err := zk.Connect([]string{in.settings["zookeeper"]}, 10*time.Second, zk.WithLogInfo(false))
	in.must(err)
	defer conn.Close()
	root := in.settings["zookeeper_root"]
	for _, node := range []struct{ path, data string }{{root, ""}, {root + "/config", ""}, {root + "/config/format", `{"reads":2,"writes":2}`}} {
		_, err := conn.Create(node.path, []byte(node.data), 0, zk.WorldACL(zk.PermAll))
		in.must(err)
	}
	return in
}

// TestProcessorAtRunTime: a processor that is added while the service runs serves the user
// whom it requires, and whom no other may serve; once it is stopped, none does. One of the
// configuration does the same beside it.
func TestProcessorAtRunTime(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "prohibited_users=cleo", "processors=metadata-default metadata-maps?users=cleo")
	payload := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("x")) }))
	in.serveInProcess()
	in.rest(in.depositBy("cleo", payload+"/0.txt", domain.TypeFile))
	in.says(0, words("queue prohibit metadata ana --reason x"))
	first := in.depositBy("ana", payload+"/1.txt", domain.TypeFile)
	in.rest(in.depositBy("ben", payload+"/2.txt", domain.TypeFile))
	in.says(0, words("processor add metadata films --users ana --reason x"))
	in.rest(first)
	in.says(0, words("processor stop metadata films --reason x"))
	second := in.depositBy("ana", payload+"/3.txt", domain.TypeFile)
	in.rest(in.depositBy("ben", payload+"/4.txt", domain.TypeFile))
	in.rest(in.depositBy("cleo", payload+"/5.txt", domain.TypeFile))
	by, grabs := map[string]string{"ana": "films", "ben": "default", "cleo": "maps"}, map[string]int{}
	for _, r := range in.history() {
		if d, ok := r.Data.(*domain.BatchGrabbed); ok {
			if grabs[d.Ticket.User]++; d.Processor != by[d.Ticket.User] || r.Aggregate == second.Aggregate() {
				t.Errorf("%s of %s was grabbed by %s", r.Aggregate, d.Ticket.User, d.Processor)
			}
		}
	}
	if grabs["ana"] != 1 || grabs["ben"] != 2 || grabs["cleo"] != 2 {
		t.Errorf("grabs of each user: %v", grabs)
	}
	in.says(0, words("processor start metadata films --reason x"))
	in.rest(second)
	in.agree()
}

// TestProcessorCriteria: a processor serves those first whom it prefers, none whom it excludes,
// and no deposit that is too large, behind which those of its user wait; once it takes every size
// and excludes none, all are served.
func TestProcessorCriteria(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "transfer_interval=50ms")
	in.open()
	in.serveInProcess()
	in.says(0, words("queue suspend metadata --reason x"))
	in.says(0, words("processor stop metadata default --reason x"))
	in.says(0, words("processor add metadata small --max-size 10 --preferred cleo --users ben --exclude-users --workers 1 --reason x"))
	name := map[domain.BatchID]string{}
	for _, d := range []struct{ name, content string }{{"ana1", "small"}, {"ana2", "small too"}, {"ben1", "small"}, {"dan1", "larger than ten bytes"},
		{"dan2", "small"}, {"cleo1", "ten bytes."}, {"cleo2", "small"}} {
		name[in.transferred(in.droppedBy(strings.TrimRight(d.name, "0123456789"), d.name, d.content, "test"))[0]] = d.name
	}
	grabbed := func(n int) string { // in the order of the turns, when there are so many
		t.Helper()
		in.reach(domain.EventBatchReported, n)
		var all []string
		for _, r := range in.history() {
			if _, ok := r.Data.(*domain.BatchGrabbed); ok {
				all = append(all, name[domain.BatchID(r.Aggregate.ID)])
			}
		}
		return strings.Join(all, " ")
	}
	in.says(0, words("queue resume metadata --reason x"))
	if got, want := grabbed(4), "cleo1 cleo2 ana1 ana2"; got != want {
		t.Errorf("grabbed %s, want %s", got, want)
	}
	in.says(0, words("queue board metadata"), "ben", "no processor serves this user", "dan", "the first deposit is too large")
	in.says(0, words("processor set metadata small --max-size 0 --users= --exclude-users=false --reason x"))
	if got, want := grabbed(7), "cleo1 cleo2 ana1 ana2 ben1 dan1 dan2"; got != want {
		t.Errorf("then grabbed %s, want %s", got, want)
	}
	in.agree()
}
