package e2e

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/zklive"
	zktree "github.com/accession-ingest/accession/internal/testkit/tree"
)

// losesTree removes the tree, and returns the installation anew.
func (in *installation) losesTree() *installation {
	in.t.Helper()
	if err := in.wired.Close(); err != nil {
		in.t.Fatal(err)
	}
	in.must(zktree.Destroy(in.ctx(), in.cfg.ZooKeeper, in.cfg.ZooKeeperRoot))
	return in.with()
}

// emptyTree makes the tree without asking anybody.
func (in *installation) emptyTree() {
	in.t.Helper()
	s, err := zklive.Open(in.ctx(), zklive.Config{Servers: in.cfg.ZooKeeper, Root: in.cfg.ZooKeeperRoot})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		in.t.Fatal(err)
	}
}

// refusesLost checks that no process takes anything while the tree is lost.
func (in *installation) refusesLost(deposit []string) {
	in.t.Helper()
	in.says(8, deposit, "is lost", "accession restore zookeeper")
	in.says(8, words("queue pause pending --reason x"), "is lost")
	in.says(8, words("status"), "is lost", "accession restore zookeeper")
	s := &run.Service{Config: in.cfg, Roles: run.AllRoles, Version: "test", Log: slog.New(slog.DiscardHandler)}
	var known *app.Error
	if err := s.Run(in.ctx()); !errors.As(err, &known) || known.Kind != app.Lost || !strings.Contains(known.Hint, "accession restore zookeeper") {
		in.t.Errorf("the service ends with %v", err)
	}
	unheard := in.with("nats=nats://127.0.0.1:1")
	unheard.says(5, deposit, "is new or lost", "only the log tells")
}

// A tree that is lost is not replaced by an empty one, in which deposits would be
// given ids that were used: until it is restored nothing is taken.
// Shows: C10 P1
func TestLostTreeIsNotReplaced(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, samples.Handler())
	deposit := []string{"submit", "--profile", "test", base + samples.SingleFile}
	in.with("nats=nats://127.0.0.1:1").says(5, deposit, "is new or lost")
	in.says(0, words("queue pause pending --reason x")) // a tree without ids is in use too
	stop := in.serveInProcess().stop
	in.seen(1, domain.EventSettingChanged)
	stop()
	in.says(0, words("queue resume pending"))
	in.says(0, deposit, "bid0000000001")
	stop = in.serveInProcess().stop
	in.seen(1, domain.EventJobCleaned)
	in.shown()
	stop()

	lost := in.losesTree()
	lost.refusesLost(deposit)
	lost.emptyTree() // as one made it who did not ask
	lost.refusesLost(deposit)
	lost.says(0, words("restore zookeeper"), "1 batches")
	in = lost.with("nats=nats://127.0.0.1:1")
	in.says(0, words("queue pause pending --reason x")) // while NATS is down
	lost.says(0, words("queue resume pending"))
	if out := lost.says(0, deposit); strings.Contains(out, "bid0000000001") {
		t.Errorf("an id was used again: %s", out)
	}
	lost.serveInProcess()
	lost.seen(2, domain.EventJobCleaned)
	lost.agree()
}

// Tree and log are both lost: the log comes first, and leaves the tree to its own
// restore.
// Shows: C9 C10
func TestRestoreOfTreeAndLog(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, samples.Handler())
	deposit := []string{"submit", "--profile", "test", base + samples.SingleFile}
	in.says(0, deposit)
	stop := in.serveInProcess().stop
	in.seen(1, domain.EventJobCleaned)
	in.seen(1, domain.EventBatchReported)
	in.shown()
	stop()
	nc, err := nats.Connect(in.cfg.NATS[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err == nil {
		err = js.DeleteStream(in.ctx(), in.cfg.NATSStream)
	}
	if err != nil {
		t.Fatal(err)
	}
	in = in.losesTree()
	in.says(3, words("restore zookeeper"), "the log is empty", "accession restore log")
	in = in.with()
	in.says(0, words("restore log"), "events were restored", "accession restore zookeeper")
	in.refusesLost(deposit)
	in.says(0, words("restore zookeeper"), "1 batches", "epoch 2 begins")
	in.says(0, deposit)
	in.serveInProcess()
	in.seen(2, domain.EventJobCleaned)
	in.agree()
}
