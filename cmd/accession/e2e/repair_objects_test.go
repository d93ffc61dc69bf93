package e2e

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
)

// Each damage to the nodes that keep the jobs of an object in order is found, and what a
// repair leaves is the tree as it was. A tree that is restored from the log has them too,
// and the jobs go on.
// Shows: C10
func TestVerifyFindsAndRepairsObjectEntries(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, samples.Handler())
	stop := in.serveInProcess().stop
	in.rest(in.submit(app.Deposit{Payload: base + samples.SingleFile}))
	ended := in.seen(1, domain.EventJobCleaned)[0].Aggregate.ID
	in.says(0, words("queue pause pending --reason x"))
	waiting := in.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest})
	in.seen(1+len(samples.Objects()), domain.EventJobCreated)
	in.seen(2, domain.EventBatchStarted)
	stop()
	in.serveInProcess("relay", "projector")
	in.shown()
	if r := in.settled(); len(r.Findings) > 0 {
		t.Fatalf("before any damage:\n%s", findings(r.Findings))
	}
	before, _, _ := in.dump()
	var entry, of string // an entry, and the other one of its job
	for node := range before {
		_, job, named := strings.Cut(node, "-")
		if !strings.HasPrefix(node, "/objects/") || !named {
			continue
		}
		for other := range before {
			if other != node && strings.HasPrefix(other, "/objects/") && strings.HasSuffix(other, "-"+job) {
				entry, of = node, other
			}
		}
	}
	if of == "" {
		t.Fatal("no job has two local ids")
	}
	dir, name := entry[:len("/objects/ff")], entry[len("/objects/ff/"):]
	key, job, _ := strings.Cut(name, "-")
	otherKey, _, _ := strings.Cut(of[len("/objects/ff/"):], "-")
	elsewhere := "/objects/00"
	if dir == elsewhere {
		elsewhere = "/objects/01"
	}
	identifiers := "/jobs/" + job + "/identifiers"
	z := in.raw()
	for _, c := range []struct {
		name   string
		damage func()
		want   domain.Code
	}{
		{"an entry is lost", func() { z.cut(entry) }, consistency.ObjectEntryMissing},
		{"all entries of a job are lost", func() { z.cut(entry, of) }, consistency.ObjectEntryMissing},
		{"a job is lost with its entries", func() {
			z.cut("/jobs/"+job, "/jobs/states/pending/05-"+job, "/batches/"+string(waiting)+"/states/batch-processing/"+job, entry, of)
		}, consistency.JobMissing},
		{"an entry under a key that the job does not have", func() { z.put(elsewhere+"/"+elsewhere[len("/objects/"):]+key[2:]+"-"+job, "", 0) }, consistency.ObjectEntryOrphan},
		{"an entry of a job that has ended", func() { z.put(dir+"/"+key+"-"+ended, "", 0) }, consistency.ObjectEntryOrphan},
		{"an entry of a job that never was", func() { z.puts(dir+"/"+key+"-jid0000009999", dir+"/"+key+"-jid0000009999/y") }, consistency.ObjectEntryOrphan},
		{"an entry with content", func() { z.set(entry, "{") }, consistency.NodeWrong},
		{"an entry that has a child", func() { z.put(entry+"/y", "", 0) }, consistency.ObjectEntryOrphan},
		{"an entry in another directory", func() { z.put(elsewhere+"/"+name, "", 0) }, consistency.StrayNode},
		{"an entry that names no job", func() { z.put(dir+"/"+key+"-x", "", 0) }, consistency.StrayNode},
		{"an entry that names nothing", func() { z.puts(dir+"/x", dir+"/x/y") }, consistency.StrayNode},
		{"a directory that is none", func() { z.puts("/objects/zz", "/objects/zz/"+name) }, consistency.StrayNode},
		{"other keys in the job", func() { z.edit(identifiers, key, elsewhere[len("/objects/"):]+key[2:]) }, consistency.NodeWrong},
		{"keys in the job that are none", func() { z.edit(identifiers, key, "x") }, consistency.NodeWrong},
		{"another key, in the job and in its entries", func() {
			z.edit(identifiers, otherKey, elsewhere[len("/objects/"):]+otherKey[2:])
			z.put(elsewhere+"/"+elsewhere[len("/objects/"):]+otherKey[2:]+"-"+job, "", 0)
			z.cut(of)
		}, consistency.ObjectEntryMissing},
	} {
		c.damage()
		in.mends(c.name, c.want)
		after, _, _ := in.dump()
		if diff := cmp.Diff(withoutStatuses(before), withoutStatuses(after)); diff != "" {
			t.Fatalf("%s: repaired, and the tree is another (-before +after):\n%s", c.name, diff)
		}
	}

	// A process that opens the tree makes a directory that is lost.
	z.cut(dir)
	again := in.with()
	again.mends("a directory is lost", consistency.ObjectEntryMissing)
	before, _, _ = in.dump()
	z.cut(entry)
	z.puts(dir+"/x", "/objects/zz")
	fresh := in.with("zookeeper_root=" + in.cfg.ZooKeeperRoot + "/restored")
	fresh.says(0, words("restore zookeeper"), "accession verify")
	if after, _, _ := fresh.dump(); !cmp.Equal(before, after) {
		t.Errorf("restored, and the tree is another (-before +after):\n%s", cmp.Diff(before, after))
	}
	fresh.serveInProcess()
	fresh.says(0, words("queue resume pending"))
	if v := fresh.rest(waiting); v.JobsCompleted != int64(len(samples.Objects())-1) || v.JobsFailed != 1 {
		t.Errorf("%+v", v.BatchSummary)
	}
	fresh.agree()
}

// withoutStatuses returns a tree without the statuses of batches and jobs, whose versions
// a repair raises.
func withoutStatuses(tree map[string]string) map[string]string {
	tree = maps.Clone(tree)
	maps.DeleteFunc(tree, func(node, _ string) bool { return strings.HasSuffix(node, "/status") })
	return tree
}
