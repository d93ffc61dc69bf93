package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
)

// tree changes nodes behind the service's back.
type tree struct {
	in   *installation
	conn *zk.Conn
}

func (in *installation) raw() tree {
	in.t.Helper()
	conn, _, err := zk.Connect(in.cfg.ZooKeeper, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		in.t.Fatal(err)
	}
	in.t.Cleanup(conn.Close)
	return tree{in, conn}
}

func (z tree) must(err error) {
	z.in.t.Helper()
	if err != nil {
		z.in.t.Fatal(err)
	}
}

func (z tree) put(node, data string, flags int32) {
	z.in.t.Helper()
	_, err := z.conn.Create(z.in.cfg.ZooKeeperRoot+node, []byte(data), flags, zk.WorldACL(zk.PermAll))
	z.must(err)
}
func (z tree) puts(nodes ...string) {
	z.in.t.Helper()
	for _, node := range nodes {
		z.put(node, "", 0)
	}
}
func (z tree) set(node, data string) {
	z.in.t.Helper()
	_, err := z.conn.Set(z.in.cfg.ZooKeeperRoot+node, []byte(data), -1)
	z.must(err)
}
func (z tree) get(node string) string {
	z.in.t.Helper()
	data, _, err := z.conn.Get(z.in.cfg.ZooKeeperRoot + node)
	z.must(err)
	return string(data)
}
func (z tree) decode(node string, into any) {
	z.in.t.Helper()
	z.must(json.Unmarshal([]byte(z.get(node)), into))
}
func (z tree) edit(node, from, to string) {
	z.in.t.Helper()
	data := z.get(node)
	if !strings.Contains(data, from) {
		z.in.t.Fatalf("%s holds %s, not %s", node, data, from)
	}
	z.set(node, strings.Replace(data, from, to, 1))
}

// cut removes nodes with all below them.
func (z tree) cut(nodes ...string) {
	z.in.t.Helper()
	for _, node := range nodes {
		names, _, err := z.conn.Children(z.in.cfg.ZooKeeperRoot + node)
		if errors.Is(err, zk.ErrNoNode) {
			z.in.t.Fatalf("%s is not there", node)
		}
		for _, n := range names {
			z.cut(node + "/" + n)
		}
		z.must(errors.Join(err, z.conn.Delete(z.in.cfg.ZooKeeperRoot+node, -1)))
	}
}

// mixture is what newMixture left: jobs, and the batch that ended and the one that
// is open.
type mixture struct {
	failed, cleaned string
	waiting         []string
	ended, open     domain.BatchID
	gone            domain.BatchID // it was cleaned up
}

// newMixture leaves an installation in which a batch with a failed job has ended, and three
// jobs of another wait behind a pause; no worker runs any more, but events are
// carried and projected.
func newMixture(t *testing.T) (in *installation, m mixture) {
	t.Helper()
	in = newInstallation(t)
	base := webServer(t, samples.Handler())
	others, _ := mends(t)
	stop := in.serveInProcess().stop
	m.ended = in.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest})
	for _, j := range in.rest(m.ended).Jobs {
		if j.Status == string(domain.JobFailed) {
			m.failed = j.ID
		} else {
			m.cleaned = j.ID
		}
	}
	in.seen(len(samples.Objects())-1, domain.EventJobCleaned)
	m.gone = in.submit(app.Deposit{Payload: base + samples.SingleFile})
	in.rest(m.gone)
	in.seen(len(samples.Objects()), domain.EventJobCleaned)
	in.says(0, words("batch cleanup --yes "+string(m.gone)))
	in.says(0, words("queue pause pending --reason x"))
	m.open = in.submit(app.Deposit{Payload: others + "/batch.checkm", Type: domain.TypeFileBatchManifest})
	in.seen(3, domain.EventBatchStarted)
	stop()
	in.serveInProcess("relay", "projector")
	in.shown()
	for _, r := range in.seen(len(samples.Objects())+5, domain.EventJobCreated) {
		if r.BatchID == m.open {
			m.waiting = append(m.waiting, r.Aggregate.ID)
		}
	}
	slices.Sort(m.waiting)
	return in, m
}

// Each damage is found under its code, mended by --repair with an event, and gone
// after it. A run takes a third of them.
// Shows: P21
func TestVerifyFindsAndRepairsEveryDamage(t *testing.T) {
	t.Parallel()
	in, m := newMixture(t)
	z := in.raw()
	z.put("/config/timeouts", `{"download_seconds":1}`, 0)
	in.mends("timeouts of no history", consistency.SettingWrong)
	in.says(0, words("timeouts set download=6h --reason films"))
	z.put("/config/profiles/films", `{"version":"000000000000","sha256":"`+strings.Repeat("0", 64)+`"}`, 0)
	in.mends("a profile of no history", consistency.SettingWrong)
	in.says(0, words("profile set test "+in.profileOf(t, "attempts: 2, timeout: 3s")+" --reason y"))
	in.says(0, words("queue suspend query --reason y"))
	in.says(0, words("queue limit query a.b --allocation 3 --reason y"))
	in.says(0, words("processor stop query default --reason y"))
	failed, cleaned, ended, open := m.failed, m.cleaned, m.ended, m.open
	if r := in.settled(); len(r.Findings) > 0 {
		t.Fatalf("before any damage:\n%s", findings(r.Findings))
	}
	job, batch := m.waiting[0], "/batches/"+string(open)
	dir, entry, ref := "/jobs/"+job, "/jobs/states/pending/05-"+job, batch+"/states/batch-processing/"+job
	work := filepath.Join(in.cfg.WorkDir, string(open))
	for _, c := range thirdOf(t, []struct {
		name   string
		damage func()
		want   domain.Code
	}{
		{"a queue entry is lost", func() { z.cut(entry) }, consistency.QueueEntryMissing},
		{"an entry in another queue", func() { z.put("/jobs/states/failed/05-"+job, "", 0) }, consistency.QueueEntryWrong},
		{"an entry of another priority", func() { z.put("/jobs/states/pending/07-"+job, "", 0) }, consistency.QueueEntryWrong},
		{"an entry of a job that was cleaned up", func() { z.put("/jobs/states/completed/05-"+cleaned, "", 0) }, consistency.QueueEntryWrong},
		{"an entry without a job", func() { z.put("/jobs/states/pending/05-jid0000009999", "", 0) }, consistency.QueueEntryOrphan},
		{"an entry that names nothing", func() { z.put("/jobs/states/pending/first", "", 0) }, consistency.StrayNode},
		{"a queue that is none", func() { z.put("/jobs/states/elsewhere", "", 0) }, consistency.StrayNode},
		{"a job that is none", func() { z.put("/jobs/x", "", 0) }, consistency.StrayNode},
		{"a batch that is none", func() { z.put("/batches/x", "", 0) }, consistency.StrayNode},
		{"a batch that is none, and what is below it", func() { z.puts("/batches/x", "/batches/x/status", "/batches/x/states", "/batches/x/states/y") }, consistency.StrayNode},
		{"a queue that is none, with an entry", func() { z.puts("/jobs/states/elsewhere", "/jobs/states/elsewhere/05-"+job) }, consistency.StrayNode},
		{"more strays than one event tells of", func() {
			z.put("/jobs/x", "", 0)
			for i := range 60 {
				z.put(fmt.Sprintf("/jobs/x/%d", i), "", 0)
			}
		}, consistency.StrayNode},
		{"an entry without a job that has a child", func() { z.puts("/jobs/states/pending/05-jid0000009999", "/jobs/states/pending/05-jid0000009999/y") }, consistency.QueueEntryOrphan},
		{"an entry that has a child", func() { z.put(entry+"/y", "", 0) }, consistency.QueueEntryWrong},
		{"a reference that has a child", func() { z.put(ref+"/y", "", 0) }, consistency.ReferenceWrong},
		{"a node too many, with a child", func() { z.puts(dir+"/x", dir+"/x/y") }, consistency.NodeUnknown},
		{"a status with a child", func() { z.put(dir+"/status/y", "", 0) }, consistency.NodeUnknown},
		{"a sub-state too many, with a child", func() { z.puts(batch+"/states/x", batch+"/states/x/y") }, consistency.NodeUnknown},
		{"a pause with a child", func() { z.put("/locks/queue/pending/y", "", 0) }, consistency.SettingWrong},
		{"a status of another state", func() { z.edit(dir+"/status", "pending", "failed") }, consistency.StatusWrong},
		{"a status that cannot be read", func() { z.set(dir+"/status", "{") }, consistency.StatusWrong},
		{"a status that is lost", func() { z.cut(dir + "/status") }, consistency.StatusMissing},
		{"an old status", func() {
			z.edit(dir+"/status", fmt.Sprintf(`"version":%d`, in.version(domain.JobID(job).Aggregate())), `"version":1`)
		}, consistency.TreeBehind},
		{"a node is lost", func() { z.cut(dir + "/identifiers") }, consistency.NodeMissing},
		{"the count of claims is lost", func() { z.cut(dir + "/claims") }, consistency.NodeMissing},
		{"another priority", func() { z.set(dir+"/priority", "9") }, consistency.NodeWrong},
		{"another configuration", func() { z.edit(dir+"/configuration", `"test"`, `"best"`) }, consistency.NodeWrong},
		{"a job that was cleaned up, of another priority", func() { z.edit("/jobs/"+cleaned+"/status", `"priority":5`, `"priority":6`) }, consistency.StatusWrong},
		{"a job that was cleaned up, without its configuration", func() { z.edit("/jobs/"+cleaned+"/status", `"configuration"`, `"x"`) }, consistency.StatusWrong},
		{"a job that was cleaned up, with a node of its own", func() { z.put("/jobs/"+cleaned+"/priority", "5", 0) }, consistency.NodeUnknown},
		{"the status of a job that was cleaned up", func() { z.set("/jobs/"+cleaned+"/status", "{") }, consistency.StatusWrong},
		{"a node too many", func() { z.put(dir+"/x", "", 0) }, consistency.NodeUnknown},
		{"a job without its directory", func() { z.cut(dir) }, consistency.StatusMissing},
		{"a job is lost", func() { z.cut(dir, entry, ref) }, consistency.JobMissing},
		{"a reference is lost", func() { z.cut(ref) }, consistency.ReferenceMissing},
		{"a reference in another sub-state", func() { z.put(batch+"/states/batch-failed/"+job, "", 0) }, consistency.ReferenceWrong},
		{"a reference in another batch", func() { z.put("/batches/"+string(ended)+"/states/batch-completed/"+job, "", 0) }, consistency.ReferenceWrong},
		{"a failed job counted as completed", func() {
			z.cut("/batches/" + string(ended) + "/states/batch-failed/" + failed)
			z.put("/batches/"+string(ended)+"/states/batch-completed/"+failed, "", 0)
		}, consistency.ReferenceWrong},
		{"a reference without a job", func() { z.put(batch+"/states/batch-failed/jid0000009999", "", 0) }, consistency.ReferenceOrphan},
		{"a reference that names nothing", func() { z.put(batch+"/states/batch-failed/x", "", 0) }, consistency.NodeUnknown},
		{"a sub-state is lost", func() { z.cut(batch + "/states/batch-failed") }, consistency.NodeMissing},
		{"a batch's status", func() { z.edit("/batches/"+string(ended)+"/status", "failed", "completed") }, consistency.StatusWrong},
		{"a batch's submission is lost", func() { z.cut(batch + "/submission") }, consistency.NodeMissing},
		{"a report is lost", func() { z.cut("/batches/" + string(ended) + "/status-report") }, consistency.NodeMissing},
		{"rows that have no jobs", func() { z.edit(batch+"/progress", `"next_row":4`, `"next_row":5`) }, consistency.RowsWrong},
		{"rows that are counted as not made", func() { z.edit(batch+"/progress", `"next_row":4`, `"next_row":2`) }, consistency.RowsWrong},
		{"the progress is lost", func() { z.cut(batch + "/progress") }, consistency.NodeMissing},
		{"a batch is lost", func() { z.cut(batch) }, consistency.BatchMissing},
		{"space promised to a job that does not download", func() { z.put("/space/"+job, "9", 0) }, consistency.PromiseOrphan},
		{"space promised to a job that has ended", func() { z.put("/space/"+cleaned, "9", 0) }, consistency.PromiseOrphan},
		{"space promised to no job", func() { z.put("/space/jid0000009999", "9", 0) }, consistency.PromiseOrphan},
		{"a promise that names nothing", func() { z.put("/space/x", "", 0) }, consistency.StrayNode},
		{"a lock that nobody holds", func() { z.put(dir+"/lock", `{"holder":"nobody"}`, 0) }, consistency.LockStale},
		{"a lock of a session without a worker", func() { z.put(dir+"/lock", `{"holder":"nobody"}`, zk.FlagEphemeral) }, consistency.LockStale},
		{"a batch's lock that nobody holds", func() { z.put(batch+"/lock", "", 0) }, consistency.LockStale},
		{"a pause is lost", func() { z.cut("/locks/queue/pending") }, consistency.SettingWrong},
		{"a pause of somebody else", func() { z.edit("/locks/queue/pending", `"x"`, `"y"`) }, consistency.SettingWrong},
		{"a suspension is lost", func() { z.cut("/queues/query/config/defaults") }, consistency.SettingWrong},
		{"other limits of a user", func() { z.edit("/queues/query/config/users/a%2Eb", "3", "4") }, consistency.SettingWrong},
		{"a processor that cannot be read", func() { z.set("/queues/query/config/processors/default", "{") }, consistency.SettingWrong},
		{"limits of no history", func() { z.put("/queues/query/config/users/eve", `{"user":"eve","allocation":1}`, 0) }, consistency.SettingWrong},
		{"timeouts are lost", func() { z.cut("/config/timeouts") }, consistency.SettingWrong},
		{"other timeouts", func() { z.edit("/config/timeouts", "21600", "1") }, consistency.SettingWrong},
		{"timeouts that cannot be read", func() { z.set("/config/timeouts", "{") }, consistency.SettingWrong},
		{"timeouts with a child", func() { z.put("/config/timeouts/y", "", 0) }, consistency.SettingWrong},
		{"the version of timeouts", func() { z.cut("/config/versions/timeouts:files") }, consistency.SettingWrong},
		{"a profile that was set is lost", func() { z.cut("/config/profiles/test") }, consistency.SettingWrong},
		{"another content of a profile", func() {
			z.set("/config/profiles/test", `{"version":"000000000000","sha256":"`+strings.Repeat("0", 64)+`"}`)
		}, consistency.SettingWrong},
		{"a profile that cannot be read", func() { z.set("/config/profiles/test", "{") }, consistency.SettingWrong},
		{"a profile with a child", func() { z.put("/config/profiles/test/y", "", 0) }, consistency.SettingWrong},
		{"the version of a profile", func() { z.cut("/config/versions/profile:test") }, consistency.SettingWrong},
		{"a setting's version", func() { z.cut("/config/versions/queue:pending") }, consistency.SettingWrong},
		{"the directory of a job that never was", func() { z.must(os.MkdirAll(filepath.Join(work, "jid0000009999", "files"), 0o755)) }, consistency.WorkOrphan},
		{"the directory of a job that was cleaned up", func() { z.must(os.MkdirAll(filepath.Join(in.cfg.WorkDir, string(ended), cleaned), 0o755)) }, consistency.WorkOrphan},
	}) {
		c.damage()
		in.mends(c.name, c.want)
	}
	// What was mended works; a job that downloads has space promised to it.
	in.says(0, words("queue pause downloading --reason x"))
	in.serveInProcess("daemons")
	in.says(0, words("queue resume pending"))
	promised := "/space/" + in.seenOf(open, 4, domain.EventJobProvisioned)[0].Aggregate.ID
	for _, c := range []struct {
		name   string
		damage func()
		want   domain.Code
	}{
		{"a promise is lost", func() { z.cut(promised) }, consistency.PromiseMissing},
		{"another promise", func() { z.set(promised, "1") }, consistency.PromiseWrong},
		{"a promise that cannot be read", func() { z.set(promised, "x") }, consistency.PromiseWrong},
	} {
		c.damage()
		in.mends(c.name, c.want)
	}
	in.says(0, words("queue resume downloading"))
	if v := in.rest(open); v.JobsCompleted != 1 || v.JobsFailed != 3 {
		t.Errorf("%+v", v.BatchSummary)
	}
	in.agree()
}

// settled checks with patience for the relay and the projector.
func (in *installation) settled() app.Verified {
	in.t.Helper()
	v, err := in.app.Verify(in.ctx(), app.VerifyOptions{Wait: 20 * time.Second})
	if err != nil {
		in.t.Fatal(err)
	}
	return v
}

// version returns that of the last event.
func (in *installation) version(a domain.Aggregate) int64 {
	in.t.Helper()
	log, err := in.wired.Log(in.ctx())
	if err != nil {
		in.t.Fatal(err)
	}
	last, err := log.Last(in.ctx(), a)
	if err != nil {
		in.t.Fatal(err)
	}
	return last.Version
}

// mends checks that a damage is found and repaired; the first of each code is only
// reported with a dry run before.
func (in *installation) mends(name string, want domain.Code) {
	in.t.Helper()
	o := app.VerifyOptions{Wait: 20 * time.Second}
	if !slices.Contains(in.dryRun, want) {
		in.dryRun = append(in.dryRun, want)
		dry := &app.App{Open: in.app.Open, Actor: in.app.Actor, DryRun: true}
		v, err := dry.Repair(in.ctx(), o)
		if err != nil || v.Worst != app.Repairable || !found(v, want) {
			in.t.Fatalf("%s: want %s, got %v\n%s", name, want, err, findings(v.Findings))
		}
		for _, r := range v.Repairs {
			if r.NotRepaired != "" || r.Event != "" {
				in.t.Errorf("%s: tried only: %+v", name, r)
			}
		}
	}
	v, err := in.app.Repair(in.ctx(), o)
	if err != nil || !found(v, want) || v.Worst != "" {
		in.t.Fatalf("%s: want %s, repaired, and then %q: %v\n%s\n%+v", name, want, v.Worst, err, findings(v.Findings), v.Repairs)
	}
	for _, r := range v.Repairs {
		if r.NotRepaired != "" || r.Event == "" {
			in.t.Errorf("%s: %+v", name, r)
		}
	}
}

// found reports whether a check has found the code.
func found(v app.Verified, want domain.Code) bool {
	return slices.ContainsFunc(v.Findings, func(f app.Finding) bool { return f.Code == want })
}
