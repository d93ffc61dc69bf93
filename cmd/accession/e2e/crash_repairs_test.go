package e2e

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
)

// A repair of the inventory is killed before its first version, in the middle of one and
// between two. What it had repaired stays, and the next repair does the rest.
// Shows: P13
func TestRepairOfTheInventoryKilled(t *testing.T) {
	t.Parallel()
	in, _, _ := newStored(t)
	before := in.inventory()
	all := in.count("select count(*) from record.object_version")
	for _, c := range thirdOf(t, []struct {
		point string
		left  int // versions that were repaired before it died
	}{
		{"record/transaction/before-commit", 0},
		{"record/transaction/run/after", 1}, // another transaction keeps the local ids of the version
		{"record/transaction/before-commit:3", 1},
		{"record/transaction/run/after:3", 2},
	}) {
		in.exec(`with f as (delete from record.object_file), i as (delete from record.identifier), l as (delete from record.local_id),
			r as (delete from record.version_reservation), e as (delete from record.effect where kind = 'store') select from record.object`)
		in.exec("delete from record.object_version")
		in.exec("delete from record.object")
		in.killedAt(c.point, "verify", "--repair", "--yes")
		if n := in.count("select count(*) from record.object_version"); n != c.left || n >= all {
			t.Errorf("%d of %d versions were repaired before a death at %s, want %d", n, all, c.point, c.left)
		}
		in.says(20, words("verify"), "version_unrecorded")
		in.says(0, words("verify --repair --yes"), "repaired")
		in.says(0, words("verify --deep"), "no differences")
		if after := in.inventory(); after != before {
			t.Fatalf("repaired after a death at %s, the inventory is another:\n%s", c.point, cmp.Diff(before, after))
		}
	}
}

// copyTree makes an older copy of the tree as it is now, in another root, and returns the
// installation that uses it.
func (in *installation) copyTree() *installation {
	in.t.Helper()
	nodes, z := in.nodesFrom(""), in.raw()
	in.t.Cleanup(func() { z.cut("") }) // when the processes that use it have ended
	older := in.with("zookeeper_root="+in.cfg.ZooKeeperRoot+"-older", "zookeeper_session_timeout=1s")
	z.in = older
	delete(nodes, "")
	z.put("", "", 0)
	for _, name := range slices.Sorted(maps.Keys(nodes)) { // parents first
		if !nodes[name].Ephemeral {
			z.put(name, nodes[name].Data, 0)
		}
	}
	from := in.raw()
	for name := range nodes {
		if bucket := path.Base(name); strings.HasPrefix(name, "/outbox/") && strings.HasPrefix(bucket, "b0") {
			z.counts(name, from)
		}
	}
	return older
}

// counts lets a node number its next child as the node of the same name in another tree
// would, as one does that was copied with its server.
func (z tree) counts(node string, as tree) {
	z.in.t.Helper()
	made := func(t tree) int32 { // children, those that are gone too
		_, stat, err := t.conn.Get(t.in.cfg.ZooKeeperRoot + node)
		z.must(err)
		return (stat.Cversion + stat.NumChildren) / 2
	}
	for n := made(as) - made(z); n > 0; n-- {
		z.put(node+"/counted", "", 0)
		z.cut(node + "/counted")
	}
}

// alone waits until no process is registered in the tree any more: the session of one that
// was killed ends after a while.
func (z tree) alone() {
	z.in.t.Helper()
	ctx, cancel := context.WithTimeout(z.in.ctx(), patience)
	defer cancel()
	for {
		names, _, changed, err := z.conn.ChildrenW(z.in.cfg.ZooKeeperRoot + "/workers")
		z.must(err)
		if len(names) == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			z.in.t.Fatalf("%v stay registered", names)
		}
	}
}

// A restore over an older copy of the tree is killed while it removes what is there, while
// it writes, and before it ends. No process can use what it has left, and the next restore
// makes the tree that the log has.
// Shows: C10
func TestRestoreOverAnOlderTreeKilled(t *testing.T) {
	t.Parallel()
	in, m := newMixture(t)
	older := in.copyTree()
	// What the copy does not have.
	in.says(0, append(words("job hold --reason x"), m.waiting[0]))
	in.says(0, append(words("job priority --to 0"), m.waiting[1]))
	in.says(0, append(words("job delete --yes --reason x"), m.failed))
	in.says(0, words("collection hold test --reason z"))
	in.submit(app.Deposit{Payload: webServer(t, samples.Handler()) + samples.SingleFile})
	in.agree()
	before, used, _ := in.dump()

	older.says(8, words("queue pause notify --reason x"), "is an older copy", "accession restore zookeeper")
	z := older.raw()
	for _, point := range []string{"zklive/destroy/part/after", "zklive/restore/number/after:2", "zklive/restore/part/after", "zklive/restore/end/before"} {
		z.alone()
		older.killedAt(point, "restore", "zookeeper")
		older.says(8, words("status"), "it is being restored")
	}
	z.alone()
	older.says(0, words("restore zookeeper"), "accession verify")
	after, next, _ := older.dump()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the tree is another (-before +after):\n%s", diff)
	}
	if next[0] < used[0] || next[1] < used[1] {
		t.Errorf("next ids were %v and are %v", used, next)
	}
	older.serveInProcess("relay", "projector")
	older.seen(1, domain.EventSettingRestored)
	older.agree()
	if r := older.settled(); len(r.Findings) > 0 {
		t.Error(findings(r.Findings))
	}
}
