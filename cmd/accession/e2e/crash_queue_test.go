package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// TestDepositQueueKilledAtEachStep: a process dies right before and right after each kind of
// write to a deposit queue: the first and a further deposit of a user, the settings, parking and
// its reverse, the grab, the end of what runs for each reason, the return to the front, and a
// synchronous deposit. After each death verify finds nothing; in the end each deposit was
// served, in its order, and each change is there once.
// Shows: P1 P11
func TestDepositQueueKilledAtEachStep(t *testing.T) {
	t.Parallel()
	in := newForProcesses(t, "attempts: 20, timeout: 60s", "outbox_grace=200ms")
	f := newFiles(t, 1, -1)
	list := filepath.Join(t.TempDir(), "list.txt")
	in.must(os.WriteFile(list, []byte("local:none\n"), 0o600))
	in.serveInProcess(run.RoleRelay, run.RoleProjector)
	died := 0
	killed := func(point string, args ...string) {
		t.Helper()
		died++
		waitFor(t, "the locks of dead processes to end", func() bool { // else a refused write would be the first
			for path, n := range in.nodesFrom("") {
				if n.Ephemeral && strings.HasSuffix(path, "/lock") {
					return false
				}
			}
			return true
		})
		begun := time.Now()
		in.killedAt(point, args...)
		t.Logf("%5.1f s %s %s", time.Since(begun).Seconds(), point, strings.Join(args, " "))
		for _, finding := range in.settled().Findings {
			t.Errorf("%v died at %s: %s", args, point, finding)
		}
	}
	// The second process does what the first did not come to. The first dies at a third of the
	// steps in a run.
	drawn, of := share(t)
	steps := 0
	twice := func(line string) {
		t.Helper()
		if steps++; steps%of == drawn {
			killed("zklive/deliver/multi/before", words(line)...)
		}
		killed("zklive/deliver/multi/after", words(line)...)
	}
	ids := func(of domain.EventType) (all []string) {
		t.Helper()
		in.shown()
		for _, r := range in.history() {
			if r.Type == of {
				all = append(all, r.Aggregate.ID)
			}
		}
		return all
	}
	last := func(of domain.EventType) string {
		t.Helper()
		all := ids(of)
		return all[len(all)-1]
	}
	// Processes die before and after each write that follows a claim or a grab, until there are
	// so many events of a type.
	until := func(of domain.EventType, n int) {
		t.Helper()
		for range 10 {
			if len(ids(of)) >= n {
				return
			}
			killed("zklive/deliver/multi/before:2", "serve")
			killed("zklive/deliver/multi/after:2", "serve")
		}
		t.Fatalf("%d events %s, want %d", len(ids(of)), of, n)
	}
	working := func(until func()) {
		t.Helper()
		s := in.serve()
		until()
		in.sent()
		s.stop()
	}
	submit := func(n int, kind domain.SubmissionType) string {
		return fmt.Sprintf("submit --profile test --submitter ana --type %s %s/file/%d", kind, f.URL, n)
	}

	// A batch without jobs: it is grabbed, begun and reported.
	twice(submit(0, domain.TypeBatchManifest))
	twice("serve")
	until(domain.EventBatchFailed, 1)
	if left := in.nodesBelow("/queues/metadata/running"); len(left) > 1 {
		t.Errorf("reported, and in the queue: %v", left)
	}

	// What is deposited and set while nothing is grabbed.
	twice("queue suspend metadata --yes --reason x")
	for n := range 3 {
		twice(submit(n+1, domain.TypeFile))
	}
	waiting := ids(domain.EventBatchSubmitted)[1:]
	twice("queue limit metadata ana --concurrency 1 --yes --reason x")
	twice("queue defaults metadata --concurrency 4 --yes --reason x")
	twice("queue park ana --batch " + waiting[1] + " --reason x")
	twice("queue unpark --batch " + waiting[1] + " --reason x")

	// Queries that wait, run, and fail.
	twice("query submit --submitter ana " + list)
	first := last(domain.EventQueryReceived)
	twice("query park --reason x " + first)
	twice("query unpark --reason x " + first)
	twice("query submit --submitter ana " + list)
	twice("query fail --yes --reason x " + last(domain.EventQueryReceived)) // while it waits
	twice("serve")                                                          // grabs it
	killed("store/put/rename/before", "serve")                              // and writes its answer
	twice("query fail --yes --reason x " + first)                           // while it runs

	// A batch with jobs that are held gives its place to the next one; that one is held when it has
	// been grabbed, and returns to the front.
	in.run("queue", "pause", "pending", "--yes")
	twice("queue resume metadata --yes --reason x")
	working(func() {
		in.reach(domain.EventBatchStarted, 2)
		in.reach(domain.EventJobCreated, 1)
	})
	in.run("job", "hold", last(domain.EventJobCreated), "--yes") // while no janitor runs, which would give back the place
	in.run("collection", "hold", "test", "--yes")
	twice("queue free --yes --reason x " + waiting[0])
	in.run("queue", "resume", "pending", "--yes")
	until(domain.EventBatchHeld, 2) // beside the one that was parked
	in.run("queue", "suspend", "metadata", "--yes", "--reason", "x")
	if got := last(domain.EventBatchHeld); got != waiting[1] {
		t.Errorf("%s is held, want %s", got, waiting[1])
	}
	in.run("collection", "release", "test", "--yes")
	twice("batch release --yes --reason x " + waiting[1])
	in.run("job", "release", last(domain.EventJobHeld), "--yes")
	in.run("queue", "resume", "metadata", "--yes", "--reason", "x")
	working(func() { in.reach(domain.EventBatchCompleted, 3) })

	// The janitor gives back the place of a batch whose jobs are held.
	in.run("queue", "pause", "pending", "--yes")
	begun, held := len(ids(domain.EventBatchStarted)), len(ids(domain.EventJobHeld))
	twice(submit(4, domain.TypeFile))
	working(func() { in.reach(domain.EventBatchStarted, begun+1) })
	in.run("collection", "hold", "test", "--yes")
	in.run("queue", "resume", "pending", "--yes")
	working(func() { in.reach(domain.EventJobHeld, held+1) })
	for len(ids(domain.EventBatchFreed)) < 2 {
		killed("zklive/deliver/multi/before", "serve")
		killed("zklive/deliver/multi/after", "serve")
	}
	if left := in.nodesBelow("/queues/metadata/running"); len(left) > 1 {
		t.Errorf("its jobs are held, and it runs: %v", left)
	}
	in.run("collection", "release", "test", "--yes")
	in.run("job", "release", last(domain.EventJobHeld), "--yes")
	working(func() { in.reach(domain.EventBatchCompleted, 4) })

	// A synchronous deposit, which takes a place of the pool and gives it back.
	twice(submit(5, domain.TypeBatchManifest) + " --sync")
	until(domain.EventBatchReported, 6)
	if left := in.nodesBelow("/queues/metadata/pools/synchronous"); len(left) > 0 {
		t.Errorf("reported, and in the pool: %v", left)
	}
	in.shown()
	in.proven()
	in.says(0, words("verify"))
	if died < 18+steps/of {
		t.Errorf("only %d processes died", died)
	}

	in.grabbedBeforeLater(waiting[1:])
	for of, want := range map[domain.EventType]int{domain.EventBatchSubmitted: 6, domain.EventBatchFreed: 2, domain.EventQueryReceived: 2, domain.EventQueryGrabbed: 1,
		domain.EventQueryFailed: 2, domain.EventQueryAnswered: 0, domain.EventBatchReported: 6} {
		if got := ids(of); len(got) != want {
			t.Errorf("%s: %s, want %d", of, strings.Join(got, " "), want)
		}
	}
}

// grabbedBeforeLater: each of the batches was grabbed, and none while an earlier one waited. One that
// is held, by an operator or with its collection, waits again when it is released.
func (in *installation) grabbedBeforeLater(turns []string) {
	in.t.Helper()
	waits, grabs := map[string]bool{}, map[string]int{}
	for _, id := range turns {
		waits[id] = true
	}
	for _, r := range in.history() {
		turn := slices.Index(turns, r.Aggregate.ID)
		switch {
		case turn < 0:
		case r.Type == domain.EventBatchHeld:
			waits[r.Aggregate.ID] = false
		case r.Type == domain.EventBatchReleased:
			waits[r.Aggregate.ID] = true
		case r.Type == domain.EventBatchGrabbed:
			waits[r.Aggregate.ID] = false
			grabs[r.Aggregate.ID]++
			for _, earlier := range turns[:turn] {
				if waits[earlier] {
					in.t.Errorf("%s is grabbed while %s waits, which is before it", r.Aggregate.ID, earlier)
				}
			}
		}
	}
	if len(grabs) != len(turns) {
		in.t.Errorf("grabbed: %v, want each of %v", grabs, turns)
	}
}
