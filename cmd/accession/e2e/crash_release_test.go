package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// TestReleaseOfACollectionKilledAtEachStep: a process that releases a collection with all
// that it holds dies at each step. The batches and jobs that it had not come to stay held,
// whether or not the hold was released, until the command is run again; the others go on
// without it, and nothing is released twice.
// Shows: P1
func TestReleaseOfACollectionKilledAtEachStep(t *testing.T) {
	t.Parallel()
	const jobs = 4
	release := []string{"collection", "release", "test", "--all", "--reason", "signed", "--yes"}
	in := newForProcesses(t, "attempts: 20, timeout: 60s")
	f := newFiles(t, jobs, -1)
	s := in.serve()
	s.works()
	completed := 0
	type death struct {
		point string
		on    bool // the hold stands after the death
		least int  // how many of the batch and the jobs are released at least
		most  int
	}
	for _, c := range thirdOf(t, []death{
		// The first write releases the hold.
		{"zklive/deliver/multi/before", true, 0, 0},
		{"zklive/deliver/multi/after", false, 0, 0},
		// Then all are released at once.
		{"app/release/one/before", false, 0, jobs},
		{"app/release/one/after", false, 1, jobs + 1},
		{fmt.Sprintf("app/release/one/before:%d", jobs+1), false, 0, jobs},
		{"app/release/one/after:3", false, 3, jobs + 1},
		{fmt.Sprintf("app/release/one/after:%d", jobs+1), false, jobs + 1, jobs + 1},
	}) {
		in.run("queue", "pause", "pending", "--yes")
		withJobs := in.submitFiles(f)
		in.seenOf(withJobs, jobs, domain.EventJobCreated)
		in.run("collection", "hold", "test", "--yes")
		in.run("queue", "resume", "pending", "--yes")
		alone := in.submitFiles(f)
		in.seenOf(withJobs, jobs, domain.EventJobHeld)
		in.seenOf(alone, 1, domain.EventBatchHeld)
		in.shown()

		in.killedAt(c.point, release...)
		in.sent() // by the service: what the dead had written
		in.shown()
		held := func() int {
			return in.count(`select count(*) from accession.job where batch_id = $1 and status = 'held'`, withJobs) +
				in.count(`select count(*) from accession.batch where id = $1 and status = 'held'`, alone)
		}
		if left := jobs + 1 - held(); left < c.least || left > c.most {
			t.Errorf("died at %s: %d are released, want %d to %d", c.point, left, c.least, c.most)
		}
		holds, err := in.live.Holds(t.Context())
		in.must(err)
		if _, on := holds.Collections["test"]; on != c.on {
			t.Errorf("died at %s: the hold stands: %v", c.point, on)
		}
		if left := held(); left == 0 {
			in.says(3, release, "collection test is not on hold")
		} else if said := in.run(release...); strings.Count(said, "is pending now") != left {
			t.Errorf("died at %s: %d were left, and the next says\n%s", c.point, left, said)
		}
		completed += 2
		in.reach(domain.EventBatchCompleted, completed)
		in.sent()
		in.shown()
		for id, of := range map[domain.BatchID]domain.EventType{withJobs: domain.EventJobReleased, alone: domain.EventBatchReleased} {
			each := in.count(`select count(distinct aggregate_id) from accession.event where batch_id = $1 and type = $2`, id, of)
			n := in.count(`select count(*) from accession.event where batch_id = $1 and type = $2`, id, of)
			if want := map[domain.BatchID]int{withJobs: jobs, alone: 1}[id]; n != want || each != want {
				t.Errorf("died at %s: %s has %d events %s of %d, want %d", c.point, id, n, of, each, want)
			}
		}
	}
	in.sent()
	in.proven()
	s.stop()
}
