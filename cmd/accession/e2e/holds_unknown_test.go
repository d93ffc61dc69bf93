package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/stack"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
)

// zookeeper returns a connection of the test's own, for nodes that another program
// makes.
func (in *installation) zookeeper() *zk.Conn {
	in.t.Helper()
	conn, _, err := zk.Connect([]string{in.settings["zookeeper"]}, 10*time.Second, zk.WithLogInfo(false))
	in.must(err)
	in.t.Cleanup(conn.Close)
	return conn
}

// A hold that cannot be read holds its own queue or collection and no other; it is
// shown, reported, and removed like any other, by each of the ways.
// Shows: P1 P21
func TestUnreadableHolds(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.says(0, words("queue pause notify --reason x"))
	in.says(0, words("queue resume notify"))
	conn, root := in.zookeeper(), in.cfg.ZooKeeperRoot
	create := func(node, data string) {
		t.Helper()
		_, err := conn.Create(root+node, []byte(data), 0, zk.WorldACL(zk.PermAll))
		in.must(err)
	}
	create("/locks/queue/notify", "")
	create("/locks/queue/reporting", "")
	create("/locks/collections/elsewhere", "{garbage")
	create("/locks/collections/other", "")
	s := in.serveInProcess()
	id := in.submit(app.Deposit{Payload: webServer(t, samples.Handler()) + samples.SingleFile})
	in.seenOf(id, 1, domain.EventJobRecorded)
	s.tells("a hold cannot be read; it counts as one by unknown")
	in.says(0, words("queue ls"), "notify", "unknown")
	in.says(0, words("collection ls"), "elsewhere", "unknown")
	if found := findings(in.verified().Findings); !strings.Contains(found, string(consistency.SettingWrong)) || !strings.Contains(found, "/locks/queue/notify") ||
		!strings.Contains(found, "/locks/collections/elsewhere") || !strings.Contains(found, "/locks/queue/reporting") {
		t.Errorf("verify finds\n%s", found)
	}
	in.says(0, words("queue resume notify --reason x"))
	in.says(0, words("collection release elsewhere --reason x"))
	in.says(0, words("verify --repair --yes"), "/locks/collections/other")
	in.rest(id)
	in.agree()
}

// After /ids was lowered, no id is used twice: the process that notices it says
// so, verify finds them and its repair raises them.
// Shows: P1 P12 P21
func TestLoweredIDs(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, samples.Handler())
	deposit := []string{"submit", "--profile", "test", base + samples.SingleFile}
	s := in.serveInProcess()
	in.deposit(1)
	conn, root := in.zookeeper(), in.cfg.ZooKeeperRoot
	lower := func(node string) {
		t.Helper()
		_, err := conn.Set(root+node, []byte("1"), -1)
		in.must(err)
	}
	lower("/ids/jid") // under a service that runs
	id := in.submit(app.Deposit{Payload: base + samples.SingleFile})
	s.tells("jid0000000001, which is in use")
	lower("/ids/bid")
	if _, err := in.app.Submit(in.ctx(), app.Deposit{Profile: "test", Submitter: "x", Payload: base + samples.SingleFile}); err == nil || !strings.Contains(err.Error(), "bid0000000001, which is in use") {
		t.Errorf("submit ends with %v", err)
	}
	lower("/ids/bid")
	in.says(8, deposit, "/ids/bid", "accession verify --repair")
	in.says(20, words("verify"), "ids_low")
	in.says(0, words("verify --repair --yes"), "ids_low")
	if v := in.rest(id); v.JobsCompleted != 1 {
		t.Errorf("%+v", v.BatchSummary)
	}
	in.asks("ana")
	in.seen(1, domain.EventQueryAnswered)
	lower("/ids/query")
	in.says(20, words("verify"), "ids_low", "/ids/query in ZooKeeper is 1, and qid")
	in.says(0, words("verify --repair --yes"), "ids_low")
	in.asks("ana")
	in.seen(2, domain.EventQueryAnswered)
	in.says(0, deposit)
	in.seen(3, domain.EventJobCleaned)
	in.agree()
}

// ZooKeeper goes away under a service, and is emptied under it: its log tells the one from
// the other within two session timeouts, and the service is not ready.
// Shows: P12
func TestZooKeeperIsEmptiedUnderAService(t *testing.T) {
	t.Parallel()
	const slow, gone = "zookeeper does not answer; nothing can be claimed", "zookeeper answers, and the tree of the installation is gone"
	m := newMuseum(t)
	m.set("listen_ops=127.0.0.1:0")
	s := m.serveInProcess()
	m.deposit(1)
	m.must(m.servers.Kill(stack.ZooKeeper))
	s.tells(slow)
	m.must(m.servers.StartServer(t.Context(), stack.ZooKeeper))
	s.tells("zookeeper answers again")
	s.until(200, "")
	if log := s.log.String(); strings.Contains(log, gone) {
		t.Errorf("the tree is there, and the log says otherwise:\n%s", log)
	}
	m.must(m.servers.Kill(stack.ZooKeeper))
	m.must(os.RemoveAll(m.servers.DataDir(stack.ZooKeeper)))
	m.must(m.servers.StartServer(t.Context(), stack.ZooKeeper))
	s.tells(gone)
	s.until(503, "not ready")
}

// Schema report was dropped: verify says so, and a rebuild makes it again.
// Shows: P21
func TestDroppedReports(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	stop := in.serveInProcess().stop
	in.deposit(1)
	in.shown()
	stop()
	db, err := in.wired.Pool(in.ctx())
	in.must(err)
	_, err = db.Exec(in.ctx(), "drop view report.manifest_warning")
	in.must(err)
	in.says(21, words("verify"), "views_missing", "report.manifest_warning", "accession rebuild")
	_, err = db.Exec(in.ctx(), "drop schema report cascade")
	in.must(err)
	in.says(21, words("verify"), "views_missing", "report.batch_at", "accession rebuild")
	in.says(0, words("rebuild"))
	in.says(0, words("verify"))
	in.says(0, words("report throughput"))
}
