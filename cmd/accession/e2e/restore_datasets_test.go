package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
)

// A tree that was lost is drawn again, node by node, with datasets, discoveries, slots, which
// the log alone has, and entries that wait, run, are leased, done and failed. Only what no event
// has is another: the claims of the workers, and that one of them had its inputs. The directory
// is polled on, slots open and close, and all work is done, once.
// Shows: C10
func TestRestoreOfDatasets(t *testing.T) {
	t.Parallel()
	p, q, ids := newDatasets(t)
	in := p.installation
	in.says(0, words("discover pause nights --reason later"))
	in.says(0, words("slot add nights 5 --from 2126-01-01T00:00Z --to 2126-01-02T00:00Z"))
	running := q.requests("running")
	taken := q.takes(ids[4])
	q.completes(taken)
	taken = q.takes(ids[5])
	live, err := in.wired.LiveState(in.ctx())
	in.must(err)
	in.must(live.RunEntry(in.ctx(), taken.Claim, taken.Loaded))
	in.must(in.app.CatchUp(in.ctx()))
	before, _, _ := in.dump()
	slots := in.says(0, words("slot ls --dataset nights -o json"))
	lease, runs := claimOf(ids[3]), placeOf("owned", "waits too", ids[5])
	if before[lease] == "" || !strings.Contains(before[runs], string(entry.Running)) {
		t.Fatalf("nothing is leased or runs: %q, %q", before[lease], before[runs])
	}

	delete(before, lease)
	before[runs] = strings.ReplaceAll(before[runs], string(entry.Running), string(entry.Staging))
	in = in.losesTree()
	in.says(0, words("restore zookeeper"), "epoch 2 begins")
	after, _, _ := in.dump()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the tree is another (-before +after):\n%s", diff)
	}
	in.serveInProcess(run.RoleRelay, run.RoleProjector)
	in.must(in.app.CatchUp(in.ctx()))
	if r := in.settled(); len(r.Findings) > 0 || r.Slots != 5 || r.Entries != len(ids)+1 {
		t.Errorf("after the restore: %d slots, %d entries\n%s", r.Slots, r.Entries, findings(r.Findings))
	}
	if again := in.says(0, words("slot ls --dataset nights -o json")); again != slots {
		t.Errorf("slots were %s and are %s", slots, again)
	}

	in.says(0, words("dataset show nights"), "nights")
	in.says(0, words("slot close nights 3 --reason complete"))
	in.says(0, words("discover resume nights --reason now"))
	in.shown()
	p.installation = in
	p.poller, err = in.wired.Poller(in.ctx())
	in.must(err)
	p.dir.set(func() { p.dir.files = append(p.dir.files, "20261122_c.fits 22-Nov-2026 09:05 3") })
	if last := p.asked(); last.Outcome != "complete" || last.New != 1 || last.Known != 2 {
		t.Errorf("the poll after the restore: %+v", last)
	}
	q = in.queueOfWork()
	left, err := in.wired.LiveState(in.ctx())
	in.must(err)
	orphans, err := left.OrphanEntries(in.ctx())
	if err != nil || !cmp.Equal(orphans, []compute.ID{ids[2], ids[3], ids[5]}) {
		t.Errorf("without a worker: %v, %v", orphans, err)
	}
	for _, id := range orphans {
		_, err := q.Entry(in.ctx(), id, compute.Return{Reason: domain.WorkerLost(""), Uncounted: true}, computing)
		in.must(err)
	}
	for _, id := range append(orphans, running) {
		q.completes(q.takes(id))
	}
	in.shown()
	if r := in.settled(); len(r.Findings) > 0 {
		t.Errorf("at the end:\n%s", findings(r.Findings))
	}
	in.agree()
}
