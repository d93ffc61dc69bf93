package e2e

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/wire"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// with gives the same installation under other settings, closed at the end of the
// test.
func (w *world) with(set ...string) *world {
	w.t.Helper()
	other := *w
	other.set = maps.Clone(w.set)
	for _, s := range set {
		key, value, _ := strings.Cut(s, "=")
		other.set[key] = value
	}
	var err error
	if other.cfg, err = config.Load(config.Sources{Flags: other.set}); err != nil {
		w.t.Fatal(err)
	}
	other.wired = wire.New(other.cfg, slog.New(slog.DiscardHandler))
	other.app = &app.App{World: other.wired, Actor: "user/test"}
	w.t.Cleanup(func() {
		if err := other.wired.Close(); err != nil {
			w.t.Errorf("close: %v", err)
		}
	})
	return &other
}

// dump gives the tree without what a restore does not bring back: ephemerals, the
// outbox, and how often jobs were claimed.
func (w *world) dump() (tree map[string]string, ids [2]int, epoch int) {
	w.t.Helper()
	ctx := w.ctx()
	s, err := zklive.Open(ctx, zklive.Config{Servers: w.cfg.ZooKeeper, Root: w.cfg.ZooKeeperRoot})
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			w.t.Error(err)
		}
	}()
	nodes, err := s.Dump(ctx, "")
	if err != nil {
		w.t.Fatal(err)
	}
	tree = map[string]string{}
	for name, n := range nodes {
		switch {
		case n.Ephemeral, strings.HasPrefix(name, "/outbox/"), name == "/config/versions/audit:maintenance", name == "/locks":
		case strings.HasSuffix(name, "/claims"):
			tree[name] = ""
		case name == "/ids/bid", name == "/ids/jid", name == "/config/epoch":
			var n int
			if err := json.Unmarshal([]byte(nodes[name].Data), &n); err != nil {
				w.t.Fatal(err)
			}
			switch name {
			case "/ids/bid":
				ids[0] = n
			case "/ids/jid":
				ids[1] = n
			default:
				epoch = n
			}
		default:
			tree[name] = n.Data
		}
	}
	return tree, ids, epoch
}

// A tree that was lost is made anew from the log, node by node as it was, and its
// jobs go on.
// Shows: C10
func TestRestoreZooKeeper(t *testing.T) {
	t.Parallel()
	w, m := newMixture(t)
	// One job is held, the others stand before their download; a failed one is
	// deleted, and the collection is on hold.
	w.says(0, append(words("job hold --reason x"), m.waiting[0]))
	w.says(0, append(words("job priority --to 0"), m.waiting[1]))
	w.says(0, append(words("job delete --yes --reason x"), m.failed))
	w.says(0, words("queue pause downloading --reason y"))
	stop := w.serve("daemons")
	w.says(0, words("queue resume pending"))
	w.provisioned(m.waiting[1:])
	stop()
	w.says(0, words("collection hold test --reason z"))
	w.agree()
	before, used, epoch := w.dump()

	w.says(3, words("restore zookeeper"), "another process uses the tree", "accession serve")
	fresh := w.with("zookeeper_root=" + w.cfg.ZooKeeperRoot + "/again")
	fresh.says(0, words("restore zookeeper --dry-run"), "would be made", "2 batches", "epoch 2 begins")
	fresh.says(0, words("restore zookeeper"), "epoch 2 begins", "accession verify")
	after, next, again := fresh.dump()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the tree is another (-before +after):\n%s", diff)
	}
	if next[0] < used[0] || next[1] < used[1] || epoch != 1 || again != 2 {
		t.Errorf("next ids were %v and are %v; the epoch was %d and is %d", used, next, epoch, again)
	}
	fresh.says(3, words("restore zookeeper"), "is not empty", "accession verify")
	fresh.serve()
	e := fresh.seen(1, domain.EventSettingRestored)[0]
	if d, ok := e.Data.(*domain.SettingRestored); !ok || d.What != domain.RestoredZooKeeper || d.Epoch != 2 || e.Epoch != 2 || e.Actor == "" {
		t.Errorf("%+v", e)
	}
	fresh.says(0, words("collection release test"))
	fresh.says(0, append(words("job release"), m.waiting[0]))
	fresh.says(0, words("queue resume downloading"))
	if v := fresh.rest(m.open); v.JobsCompleted != 1 || v.JobsFailed != 3 {
		t.Errorf("%+v", v.BatchSummary)
	}
	fresh.agree()
}

// provisioned waits until these jobs stand in downloading.
func (w *world) provisioned(jobs []string) {
	w.t.Helper()
	left := slices.Clone(jobs)
	log, err := w.wired.Log(w.ctx())
	if err != nil {
		w.t.Fatal(err)
	}
	for r, err := range log.Read(w.ctx(), eventstore.ReadOptions{Follow: true}) {
		if err != nil {
			w.t.Fatalf("waiting for %v: %v", left, err)
		}
		if r.Type == domain.EventJobProvisioned {
			left = slices.DeleteFunc(left, func(id string) bool { return id == r.Aggregate.ID })
		}
		if len(left) == 0 {
			return
		}
	}
}

// A restore that was interrupted leaves a tree that nobody can use, and is begun
// again.
// Shows: C10
func TestRestoreZooKeeperInterrupted(t *testing.T) {
	t.Parallel()
	w, _ := newMixture(t)
	before, _, _ := w.dump()
	half := w.with("zookeeper_root=" + w.cfg.ZooKeeperRoot + "/half")
	ctx, cancel := context.WithCancel(w.ctx())
	if _, err := half.app.RestoreZooKeeper(ctx, func(p app.VerifyProgress) {
		if p.Doing == "making the tree" {
			cancel()
		}
	}); err == nil {
		t.Fatal("it was not interrupted")
	}
	if err := half.wired.Close(); err != nil {
		t.Fatal(err)
	}
	half.says(3, words("restore log"), "accession restore zookeeper", "comes first")
	half.says(5, words("status"), "it is being restored")
	half.says(0, words("restore zookeeper"))
	after, _, _ := half.dump()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the tree is another (-before +after):\n%s", diff)
	}
}
