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
)

// losesTree removes the tree, and gives the installation anew.
func (w *world) losesTree() *world {
	w.t.Helper()
	if err := w.wired.Close(); err != nil {
		w.t.Fatal(err)
	}
	s, err := zklive.Open(w.ctx(), zklive.Config{Servers: w.cfg.ZooKeeper, Root: w.cfg.ZooKeeperRoot})
	if err == nil {
		err = errors.Join(s.Destroy(w.ctx()), s.Close())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return w.with()
}

// emptyTree makes the tree without asking anybody.
func (w *world) emptyTree() {
	w.t.Helper()
	s, err := zklive.Open(w.ctx(), zklive.Config{Servers: w.cfg.ZooKeeper, Root: w.cfg.ZooKeeperRoot})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// refusesLost checks that nobody takes anything while the tree is lost.
func (w *world) refusesLost(deposit []string) {
	w.t.Helper()
	w.says(8, deposit, "is lost", "accession restore zookeeper")
	w.says(8, words("queue pause pending --reason x"), "is lost")
	w.says(5, words("status"), "is lost", "accession restore zookeeper")
	s := &run.Service{Config: w.cfg, Roles: run.AllRoles, Version: "test", Log: slog.New(slog.DiscardHandler)}
	var known *app.Error
	if err := s.Run(w.ctx()); !errors.As(err, &known) || known.Kind != app.Lost || !strings.Contains(known.Hint, "accession restore zookeeper") {
		w.t.Errorf("the service ends with %v", err)
	}
	unheard := w.with("nats=nats://127.0.0.1:1")
	unheard.says(5, deposit, "is new or lost", "only the log tells")
}

// A tree that is lost is not replaced by an empty one, in which deposits would be
// given ids that were used: until it is restored nothing is taken.
// Shows: C10 P1
func TestLostTreeIsNotReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := webServer(t, samples.Handler())
	deposit := []string{"submit", "--profile", "test", base + samples.SingleFile}
	w.with("nats=nats://127.0.0.1:1").says(5, deposit, "is new or lost")
	w.says(0, words("queue pause pending --reason x")) // a tree without ids is in use too
	stop := w.serve()
	w.seen(1, domain.EventSettingChanged)
	stop()
	w.says(0, words("queue resume pending"))
	w.says(0, deposit, "bid0000000001")
	stop = w.serve()
	w.seen(1, domain.EventJobCleaned)
	w.shown()
	stop()

	lost := w.losesTree()
	lost.refusesLost(deposit)
	lost.emptyTree() // as one made it who did not ask
	lost.refusesLost(deposit)
	lost.says(0, words("restore zookeeper"), "1 batches")
	w = lost.with("nats=nats://127.0.0.1:1")
	w.says(0, words("queue pause pending --reason x")) // while NATS is down
	lost.says(0, words("queue resume pending"))
	if out := lost.says(0, deposit); strings.Contains(out, "bid0000000001") {
		t.Errorf("an id was used again: %s", out)
	}
	lost.serve()
	lost.seen(2, domain.EventJobCleaned)
	lost.agree()
}

// Tree and log are both lost: the log comes first, and leaves the tree to its own
// restore.
// Shows: C9 C10
func TestRestoreOfTreeAndLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := webServer(t, samples.Handler())
	deposit := []string{"submit", "--profile", "test", base + samples.SingleFile}
	w.says(0, deposit)
	stop := w.serve()
	w.seen(1, domain.EventJobCleaned)
	w.seen(1, domain.EventBatchReported)
	w.shown()
	stop()
	nc, err := nats.Connect(w.cfg.NATS[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err == nil {
		err = js.DeleteStream(w.ctx(), w.cfg.NATSStream)
	}
	if err != nil {
		t.Fatal(err)
	}
	w = w.losesTree()
	w.says(3, words("restore zookeeper"), "the log is empty", "accession restore log")
	w = w.with()
	w.says(0, words("restore log"), "events were put back", "accession restore zookeeper")
	w.refusesLost(deposit)
	w.says(0, words("restore zookeeper"), "1 batches", "epoch 2 begins")
	w.says(0, deposit)
	w.serve()
	w.seen(2, domain.EventJobCleaned)
	w.agree()
}
