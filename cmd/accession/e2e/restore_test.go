package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
)

// with returns the same installation under other settings, closed at the end of the
// test.
func (in *installation) with(set ...string) *installation {
	in.t.Helper()
	other := *in
	other.settings = maps.Clone(in.settings)
	for _, s := range set {
		key, value, _ := strings.Cut(s, "=")
		other.settings[key] = value
	}
	var err error
	if other.cfg, err = config.Load(config.Sources{Flags: other.settings}); err != nil {
		in.t.Fatal(err)
	}
	other.wired = wire.New(other.cfg, slog.New(slog.DiscardHandler))
	other.app = &app.App{Open: other.wired.Resources(), Actor: "user/test"}
	in.t.Cleanup(func() {
		if err := other.wired.Close(); err != nil {
			in.t.Errorf("close: %v", err)
		}
	})
	return &other
}

// dump returns the tree without what a restore does not bring back: ephemerals, the
// outbox, and how often jobs were claimed.
func (in *installation) dump() (tree map[string]string, ids [2]int, epoch int) {
	in.t.Helper()
	tree = map[string]string{}
	for name, n := range in.nodesFrom("") {
		switch {
		case n.Ephemeral, strings.HasPrefix(name, "/outbox/"), name == "/config/versions/audit:maintenance", name == "/locks", name == "/config/high-water":
		case strings.HasSuffix(name, "/claims"):
			tree[name] = ""
		case name == "/queues/metadata/ring", name == "/queues/query/ring": // by its writes other processes follow; they begin anew
			var ring eventstore.RingState
			in.must(json.Unmarshal([]byte(n.Data), &ring))
			tree[name] = fmt.Sprintf("%+v, then slot %d", ring.RingPosition, ring.NextSlot)
		case name == "/ids/entry": // a restore leaves a gap above it
		case name == "/ids/bid", name == "/ids/jid", name == "/config/epoch":
			var number int
			if err := json.Unmarshal([]byte(n.Data), &number); err != nil {
				in.t.Fatal(err)
			}
			switch name {
			case "/ids/bid":
				ids[0] = number
			case "/ids/jid":
				ids[1] = number
			default:
				epoch = number
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
	in, m := newMixture(t)
	// One job is held, the others stand before their download; a failed one is
	// deleted, and the collection is on hold.
	in.says(0, append(words("job hold --reason x"), m.waiting[0]))
	in.says(0, append(words("job priority --to 0"), m.waiting[1]))
	in.says(0, append(words("job delete --yes --reason x"), m.failed))
	in.says(0, words("queue pause downloading --reason y"))
	in.says(0, words("timeouts set download=6h --reason films"))
	in.says(0, words("queue suspend query --reason y"))
	in.says(0, words("queue limit query a.b --allocation 3 --reason y"))
	in.says(0, words("processor stop query default --reason y"))
	stop := in.serveInProcess("daemons").stop
	in.says(0, words("queue resume pending"))
	in.provisioned(m.waiting[1:])
	stop()
	in.says(0, words("collection hold test --reason z"))
	in.agree()
	before, used, epoch := in.dump()

	in.says(3, words("restore zookeeper"), "another process uses the tree", "accession serve")
	fresh := in.with("zookeeper_root=" + in.cfg.ZooKeeperRoot + "/again")
	fresh.says(0, words("restore zookeeper --dry-run"), "would be restored", "2 batches", "epoch 2 begins")
	fresh.says(0, words("restore zookeeper"), "epoch 2 begins", "accession verify")
	after, next, again := fresh.dump()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the tree is another (-before +after):\n%s", diff)
	}
	if next[0] < used[0] || next[1] < used[1] || epoch != 1 || again != 2 {
		t.Errorf("next ids were %v and are %v; the epoch was %d and is %d", used, next, epoch, again)
	}
	fresh.says(3, words("restore zookeeper"), "is not empty", "accession verify")
	if _, err := fresh.app.RestoreZooKeeper(fresh.ctx(), func(app.VerifyProgress) {}); !refusedFor(err, domain.CodeNotRestorable) {
		t.Errorf("%v", err)
	}
	fresh.serveInProcess()
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
func (in *installation) provisioned(jobs []string) {
	in.t.Helper()
	left := slices.Clone(jobs)
	log, err := in.wired.Log(in.ctx())
	if err != nil {
		in.t.Fatal(err)
	}
	for r, err := range log.Read(in.ctx(), eventstore.ReadOptions{Follow: true}) {
		if err != nil {
			in.t.Fatalf("waiting for %v: %v", left, err)
		}
		if r.Type == domain.EventJobProvisioned {
			left = slices.DeleteFunc(left, func(id string) bool { return id == r.Aggregate.ID })
		}
		if len(left) == 0 {
			return
		}
	}
}

// A restore that was interrupted leaves a tree that no process can use, and is begun
// again.
// Shows: C10
func TestRestoreZooKeeperInterrupted(t *testing.T) {
	t.Parallel()
	in, _ := newMixture(t)
	before, _, _ := in.dump()
	half := in.with("zookeeper_root=" + in.cfg.ZooKeeperRoot + "/half")
	ctx, cancel := context.WithCancel(in.ctx())
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
	half.says(8, words("status"), "it is being restored", "accession restore zookeeper")
	half.says(8, words("queue pause notify --reason x"), "accession restore zookeeper")
	half.says(0, words("restore zookeeper"))
	after, _, _ := half.dump()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the tree is another (-before +after):\n%s", diff)
	}
}

// refusedFor reports whether the rules refused something with a code.
func refusedFor(err error, code domain.Code) bool {
	refused, is := errors.AsType[*domain.Refused](err)
	return is && refused.Code == code
}
