package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
)

var computing = eventstore.Meta{Actor: domain.DaemonActor("compute")}

// queueOfWork requests and takes entries as processes do, without any that works on them.
type queueOfWork struct {
	*installation
	*eventstore.Handler
}

func (in *installation) queueOfWork() queueOfWork {
	in.t.Helper()
	h, err := in.wired.Handler(in.ctx())
	in.must(err)
	return queueOfWork{in, h}
}

// requests requests an entry, whose key is its group.
func (q queueOfWork) requests(group string) compute.ID {
	q.t.Helper()
	res, err := q.RequestEntry(q.ctx(), compute.Request{Work: entry.Work{Dataset: "nights", Group: group, Priority: entry.DefaultPriority, Key: group},
		Request: entry.Request{Submitter: "ana", Inputs: []string{"https://data.example.org/" + group}}}, computing)
	q.must(err)
	return res.State.ID
}

// takes takes the next entry.
func (q queueOfWork) takes(want compute.ID) eventstore.Result[compute.Entry] {
	q.t.Helper()
	res, err := q.TakeEntry(q.ctx(), compute.Wants{}, computing)
	q.must(err)
	if res.State.ID != want {
		q.t.Fatalf("took %s, want %s", res.State.ID, want)
	}
	return res
}

// completes completes an entry.
func (q queueOfWork) completes(taken eventstore.Result[compute.Entry]) {
	q.t.Helper()
	q.keepsResult(taken.State, "ab")
	_, err := q.EndEntry(q.ctx(), taken, compute.Complete{Result: entry.Result{SHA256: "ab", Size: 2}}, computing)
	q.must(err)
}

// keepsResult keeps the result of an entry, as its worker does before it completes it.
func (in *installation) keepsResult(e compute.Entry, digest string) {
	in.t.Helper()
	records, err := in.wired.Records(in.ctx())
	in.must(err)
	in.must(records.KeepComputeResult(in.ctx(), record.ComputeResult{Entry: e.ID, SHA256: digest, Key: e.Work.Key, Result: json.RawMessage(`{"n": 1}`), Worker: e.Worker, Attempt: e.Attempt, Claim: e.Version}))
}

// entriesOfAllStates leaves entries that are done, failed, owned by a worker that is gone,
// leased, and two that wait.
func (q queueOfWork) entriesOfAllStates() (ids [6]compute.ID) {
	q.t.Helper()
	for i, group := range []string{"done", "failed", "owned", "leased"} {
		ids[i] = q.requests(group)
		switch group {
		case "done":
			q.completes(q.takes(ids[i]))
		case "failed":
			_, err := q.EndEntry(q.ctx(), q.takes(ids[i]), compute.Fail{Reason: domain.Reason{Class: domain.ClassContent, Code: "no_header", Message: "no header"}}, computing)
			q.must(err)
		case "owned":
			q.takes(ids[i])
			q.raw().cut(claimOf(ids[i]))
		case "leased":
			_, err := q.LeaseEntry(q.ctx(), compute.Wants{}, eventstore.Lease{Worker: "node7", SHA256: "ab", Timeout: time.Hour}, computing)
			q.must(err)
		}
	}
	ids[4], ids[5] = q.requests("waits"), q.requests("waits too")
	return ids
}

func sequenceOf(id compute.ID) string { return strings.TrimPrefix(string(id), "eid") }
func claimOf(id compute.ID) string    { return "/compute/claims/" + sequenceOf(id) }
func statusOf(id compute.ID) string   { return "/compute/entries/" + sequenceOf(id) }
func placeOf(dir, group string, id compute.ID) string {
	return "/" + dir + "/entry-100-nights:" + strings.ReplaceAll(group, " ", "%20") + "-" + sequenceOf(id)
}
func keyOf(group string) string {
	return fmt.Sprintf("/compute/keys/%x", sha256.Sum256([]byte(group)))
}

// Each damage of an entry of the compute queue is found and mended, and all entries can be
// worked on. A run takes a third of them.
// Shows: P21
func TestVerifyRepairsEveryEntry(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.serveInProcess("relay", "projector")
	q := in.queueOfWork()
	ids := q.entriesOfAllStates()
	done, failed, owned, leased, waits := ids[0], ids[1], ids[2], ids[3], ids[4]
	in.shown()
	if r := in.settled(); len(r.Findings) > 0 || r.Entries != len(ids) {
		t.Fatalf("before any damage: %d compared\n%s", r.Entries, findings(r.Findings))
	}
	z := in.raw()
	const lease = `{"worker":"node8","sha256":"cd","seconds":3600}`
	type place struct {
		dir, group string
		id         compute.ID
	}
	places := []place{{"unowned", "waits", waits}, {"owned", "owned", owned}, {"done", "done", done}, {"failed", "failed", failed}}
	every := func(do func(e place, at, key string)) func() {
		return func() {
			for _, e := range places {
				do(e, placeOf(e.dir, e.group, e.id), keyOf(e.group))
			}
		}
	}
	other := map[string]string{"unowned": "done", "owned": "unowned", "done": "failed", "failed": "owned"}
	all := []damage{
		{"they are lost", every(func(e place, at, key string) { z.cut(at, statusOf(e.id), key) }), consistency.EntryMissing},
		{"their places are lost", every(func(_ place, at, _ string) { z.cut(at) }), consistency.EntryNameMissing},
		{"other places", every(func(e place, at, _ string) { z.cut(at); z.put(placeOf(other[e.dir], e.group, e.id), "", 0) }), consistency.EntryNameWrong},
		{"second places", every(func(e place, _, _ string) { z.put(placeOf(other[e.dir], e.group, e.id), "", 0) }), consistency.EntryNameWrong},
		{"other names", every(func(e place, _, _ string) { z.put(placeOf(e.dir, "other", e.id), "", 0) }), consistency.EntryNameWrong},
		{"other data in their places", every(func(_ place, at, _ string) { z.edit(at, "nights", "days") }), consistency.EntryNameWrong},
		{"nodes below their places", every(func(_ place, at, _ string) { z.put(at+"/x", "", 0) }), consistency.NodeUnknown},
		{"their statuses are lost", every(func(e place, _, _ string) { z.cut(statusOf(e.id)) }), consistency.StatusMissing},
		{"statuses that cannot be read", every(func(e place, _, _ string) { z.set(statusOf(e.id), "{") }), consistency.StatusWrong},
		{"statuses of another entry", every(func(e place, _, _ string) { z.set(statusOf(e.id), z.get(statusOf(ids[5]))) }), consistency.StatusWrong},
		{"their keys are lost", every(func(_ place, _, key string) { z.cut(key) }), consistency.EntryKeyMissing},
		{"their keys lead to another", every(func(_ place, _, key string) { z.set(key, sequenceOf(ids[5])) }), consistency.EntryKeyWrong},
		{"their keys lead to none", every(func(_ place, _, key string) { z.set(key, "0000009999") }), consistency.EntryKeyWrong},
		{"their keys cannot be read", every(func(_ place, _, key string) { z.set(key, "x") }), consistency.EntryKeyWrong},
		{"second keys", every(func(e place, _, _ string) { z.put(keyOf("other "+e.group), sequenceOf(e.id), 0) }), consistency.EntryKeyOrphan},
		{"leases of none", every(func(e place, _, _ string) {
			if e.id != owned {
				z.put(claimOf(e.id), lease, 0)
			}
		}), consistency.EntryClaimOrphan},
		{"claims of none", every(func(e place, _, _ string) {
			if e.id != owned {
				z.put(claimOf(e.id), `{"holder":"gone"}`, zk.FlagEphemeral)
			}
		}), consistency.EntryClaimOrphan},
	}
	before := in.nodesOfWork()
	for _, c := range thirdOf(t, append(all,
		damage{"an old status", func() { z.edit(statusOf(owned), `"version":2`, `"version":1`) }, consistency.TreeBehind},
		damage{"a status of another state", func() { z.edit(statusOf(failed), "FAILED", "PENDING") }, consistency.StatusWrong},
		damage{"a status of another worker", func() { z.edit(statusOf(owned), `"owner":"`, `"owner":"x`) }, consistency.StatusWrong},
		damage{"other inputs", func() { z.edit(statusOf(waits), "data.example.org", "x.example.org") }, consistency.StatusWrong},
		damage{"a place of no entry", func() { z.put(placeOf("unowned", "x", "eid0000009999"), "", 0) }, consistency.EntryNameOrphan},
		damage{"a key of no entry", func() { z.put(keyOf("x"), "0000009999", 0) }, consistency.EntryKeyOrphan},
		damage{"a key that leads nowhere", func() { z.put(keyOf("x"), "x", 0) }, consistency.EntryKeyOrphan},
		damage{"a lease of no entry", func() { z.put("/compute/claims/0000009999", lease, 0) }, consistency.EntryClaimOrphan},
		damage{"a lease of another worker", func() { z.put(claimOf(owned), lease, 0) }, consistency.EntryClaimWrong},
		damage{"a claim that is no lease", func() { z.put(claimOf(owned), "", 0) }, consistency.EntryClaimWrong},
		damage{"a claim of a session without a worker", func() { z.put(claimOf(owned), `{"holder":"gone"}`, zk.FlagEphemeral) }, consistency.EntryClaimWrong},
		damage{"a place that names nothing", func() { z.put("/owned/x", "", 0) }, consistency.StrayNode},
		damage{"a status that names nothing", func() { z.put("/compute/entries/x", "", 0) }, consistency.StrayNode},
		damage{"a key that is none", func() { z.put("/compute/keys/x", "", 0) }, consistency.StrayNode},
		damage{"a claim that names nothing", func() { z.put("/compute/claims/x", "", 0) }, consistency.StrayNode},
	)) {
		c.damage()
		in.mends(c.name, c.want)
		if diff := cmp.Diff(before, in.nodesOfWork()); diff != "" {
			t.Fatalf("%s: mended, and yet (-before +after)\n%s", c.name, diff)
		}
	}

	z.set("/ids/entry", "3")
	in.mends("a number that was given", consistency.IDsLow)
	// What a live worker has is left until its claim ends.
	z.cut(placeOf("owned", "leased", leased))
	v, err := in.app.Repair(in.ctx(), app.VerifyOptions{Wait: 20 * time.Second})
	in.must(err)
	if !found(v, consistency.EntryNameMissing) || len(v.Repairs) != 1 || !strings.Contains(v.Repairs[0].NotRepaired, "locked by a worker") {
		t.Errorf("%+v", v)
	}
	z.cut(claimOf(leased))
	in.mends("the lease has ended", consistency.EntryNameMissing)
	z.puts("/compute/entries/0000009999")
	z.set("/compute/entries/0000009999", strings.Replace(z.get(statusOf(waits)), sequenceOf(waits), "0000009999", 1))
	if r := in.settled(); r.Worst != app.NeedsPerson || r.Findings[0].Code != consistency.UnknownThere {
		t.Errorf("an entry of no history: %s", findings(r.Findings))
	}
	z.cut("/compute/entries/0000009999")
	in = in.with() // another process: that which had taken them may not have ended
	in.queueOfWork().finishesAll(ids)
	in.agree()
}

// finishesAll works on the entries that entriesOfAllStates has left: each is completed once, in
// the order of their requests, and the same work is not done twice.
func (q queueOfWork) finishesAll(ids [6]compute.ID) {
	q.t.Helper()
	live, err := q.wired.LiveState(q.ctx())
	q.must(err)
	orphans, err := live.OrphanEntries(q.ctx())
	if err != nil || !slices.Equal(orphans, ids[2:4]) {
		q.t.Errorf("without a worker: %v, %v", orphans, err)
	}
	for _, id := range orphans {
		_, err := q.Entry(q.ctx(), id, compute.Return{Reason: domain.WorkerLost(""), Uncounted: true}, computing)
		q.must(err)
	}
	_, err = q.Entry(q.ctx(), ids[1], compute.Retry{}, computing)
	q.must(err)
	for i, group := range []string{"done", "failed", "owned", "leased", "waits", "waits too"} {
		if again := q.requests(group); again != ids[i] {
			q.t.Errorf("%s is requested again as %s, and is %s", group, again, ids[i])
		}
	}
	for _, id := range ids[1:] {
		q.completes(q.takes(id))
	}
	completed := map[string]int{}
	for _, r := range q.seen(len(ids), domain.EventEntryCompleted) {
		completed[r.Aggregate.ID]++
	}
	if len(completed) != len(ids) {
		q.t.Errorf("completed: %v", completed)
	}
}

// A tree that was lost is drawn again with the compute queue: what waits in its order, what a
// worker had for the next one, and what has ended under its key. All work is done, once.
// Shows: C10
func TestRestoreOfComputeQueue(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	stop := in.serveInProcess("relay", "projector").stop
	q := in.queueOfWork()
	ids := q.entriesOfAllStates()
	purged := q.requests("purged")
	_, err := q.Entry(in.ctx(), purged, compute.Fail{Reason: domain.Reason{Class: domain.ClassContent, Code: "no_header", Message: "x"}}, computing)
	in.must(err)
	_, err = q.Entry(in.ctx(), purged, compute.Purge{}, computing)
	in.must(err)
	in.shown()
	in.must(in.app.CatchUp(in.ctx()))
	stop()
	before := in.nodesOfWork()

	in = in.losesTree()
	in.says(0, words("restore zookeeper"), "epoch 2 begins")
	if diff := cmp.Diff(before, in.nodesOfWork()); diff != "" {
		t.Errorf("the compute queue is another (-before +after):\n%s", diff)
	}
	in.serveInProcess("relay", "projector")
	in.must(in.app.CatchUp(in.ctx()))
	if r := in.settled(); len(r.Findings) > 0 || r.Entries != len(ids)+1 {
		t.Errorf("after the restore: %d compared\n%s", r.Entries, findings(r.Findings))
	}
	q = in.queueOfWork()
	q.finishesAll(ids)
	if next := q.requests("purged"); next.Sequence() <= purged.Sequence()+consistency.IDGap {
		t.Errorf("%s, or what was lost after it, is given again as %s", purged, next)
	}
	in.agree()
}

// nodesOfWork returns the nodes of the compute queue but for claims.
func (in *installation) nodesOfWork() map[string]string {
	in.t.Helper()
	all := map[string]string{}
	for _, dir := range []string{"/unowned", "/owned", "/done", "/failed", "/compute/entries", "/compute/keys"} {
		for name, n := range in.nodesFrom(dir) {
			all[name] = n.Data
		}
	}
	return all
}
