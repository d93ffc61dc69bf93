package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
)

// A hold that stands before a batch comes parks the batch, until hold and batch are
// released, in this order.
func TestHoldBeforeABatch(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, samples.Handler())
	in.serveInProcess()
	in.says(0, []string{"collection", "hold", "test", "--reason", "new terms", "--dry-run"}, "test would go from open to on hold")
	in.says(0, []string{"collection", "hold", "test", "--reason", "new terms"}, "test is on hold now, was open")
	in.says(3, words("collection hold test"), "collection test is already on hold", "hint: `accession collection ls`")
	id := in.submit(app.Deposit{Payload: base + samples.SingleFile})
	in.seen(1, domain.EventBatchHeld)
	in.shown()
	in.says(0, words("collection ls"), "on hold", "new terms", "user/")
	in.says(0, words("collection ls -o json"), `"batches_held": 1`, `"jobs_held": 0`, `"why": "new terms"`)
	in.says(3, words("batch release "+string(id)), "collection test is on hold, set by user/", "release that hold first", "hint: `accession collection ls`")
	in.says(3, words("batch release "+string(id)+" --dry-run"), "release that hold first")
	in.says(0, []string{"collection", "release", "test", "--reason", "signed"}, "test is open now, was on hold", "accession batch release")
	in.says(3, words("batch update-report "+string(id)), "is held: update-report is not possible (possible from here: pending, deleted)", "accession batch release "+string(id))
	in.says(0, words("batch release "+string(id)), "is pending now, was held (B4)")
	in.seen(1, domain.EventBatchCompleted)
	for _, r := range in.seen(2, domain.EventSettingChanged) {
		if d := r.Data.(*domain.SettingChanged); !strings.HasPrefix(string(r.Actor), "user/") || d.Why == "" {
			t.Errorf("%s by %q because of %q", r.ID(), r.Actor, d.Why)
		}
	}
	in.agree()
}

// A hold that comes when the jobs are made and none is begun parks the jobs.
func TestHoldBetweenBatchAndJobs(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, samples.Handler())
	in.serveInProcess()
	in.says(0, []string{"queue", "pause", "pending", "--reason", "wait for the terms"}, "pending is paused now, was open")
	id := in.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest})
	in.seen(1, domain.EventBatchStarted)
	n := len(samples.Objects())
	in.says(0, words("queue ls"), "wait for the terms", "paused", "user/")
	in.says(0, words("collection hold test"), "on hold")
	in.says(0, words("queue resume pending"), "pending is open now, was paused")
	held := in.seen(n, domain.EventJobHeld, domain.EventJobAccepted)
	var jobs []string
	for _, r := range held {
		if r.Type != domain.EventJobHeld {
			t.Fatalf("%s was accepted behind the hold", r.Aggregate)
		}
		jobs = append(jobs, r.Aggregate.ID)
	}
	in.shown()
	in.says(0, words("collection ls -o json"), fmt.Sprintf(`"jobs_held": %d`, n))
	in.says(3, append(words("job release"), jobs...), "collection test is on hold", jobs[0], jobs[n-1])
	in.says(0, words("collection release test"))
	in.says(0, append(words("job release -o json"), jobs...), `"row": "J3"`)
	if v := in.rest(id); v.JobsFailed != 1 || v.JobsCompleted != int64(n-1) || v.JobsHeld != 0 {
		t.Errorf("%+v", v.BatchSummary)
	}
	in.agree()
}

// TestReleaseOfAllThatIsHeld: a collection is released with the batch and the jobs that
// wait because of it, and without the job that an operator holds; what is left over of a
// release that was interrupted is released by the next.
func TestReleaseOfAllThatIsHeld(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, samples.Handler())
	in.serveInProcess()
	in.says(0, words("queue pause pending"))
	jobs := in.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest})
	n := len(samples.Objects())
	in.seen(n, domain.EventJobCreated)
	in.seen(1, domain.EventBatchStarted)
	in.shown()
	v, err := in.app.Batch(in.ctx(), jobs, n)
	in.must(err)
	in.says(0, []string{"job", "hold", v.Jobs[0].ID, "--reason", "rights"}, "is held now")
	in.says(0, words("collection hold test"), "on hold")
	in.says(0, words("queue resume pending"))
	held := in.submit(app.Deposit{Payload: base + samples.SingleFile})
	in.seen(n, domain.EventJobHeld)
	in.seen(1, domain.EventBatchHeld)
	in.shown()
	would := []string{"test would go from on hold to open", string(held) + " would go from held to pending (B4)"}
	for _, j := range v.Jobs[1:] {
		would = append(would, j.ID+" would go from held to pending (J3)")
	}
	said := in.says(0, words("collection release test --all --dry-run"), would...)
	if strings.Contains(said, v.Jobs[0].ID) {
		t.Errorf("%s is held by name:\n%s", v.Jobs[0].ID, said)
	}
	in.says(0, words("collection release test"), "collection release test --all")
	in.says(0, words("collection release test --all"), append([]string{"test stays open", string(held) + " is pending now, was held (B4)"},
		v.Jobs[1].ID+" is pending now, was held (J3)", v.Jobs[n-1].ID+" is pending now, was held (J3)")...)
	in.seen(1, domain.EventBatchReleased)
	in.seen(n-1, domain.EventJobReleased)
	in.shown()
	in.says(3, words("collection release test --all"), "collection test is not on hold")
	in.says(0, words("job release "+v.Jobs[0].ID), "is pending now, was held (J3)")
	if v := in.rest(jobs); v.JobsFailed != 1 || v.JobsCompleted != int64(n-1) || v.JobsHeld != 0 {
		t.Errorf("%+v", v.BatchSummary)
	}
	in.seenOf(held, 1, domain.EventBatchCompleted)
	// All in one step.
	in.says(0, words("collection hold test"))
	next := in.submit(app.Deposit{Payload: base + samples.SingleFile})
	in.seen(2, domain.EventBatchHeld)
	in.shown()
	in.says(0, words("collection release test --all"), "test is open now, was on hold", string(next)+" is pending now, was held (B4)")
	in.seenOf(next, 1, domain.EventBatchCompleted)
	in.agree()
}

// A hold that comes while a batch of a thousand jobs runs: in the order of commits
// no job of it is accepted behind the hold, what is past goes on, the others wait,
// and the batch adds up.
// Shows: P1
func TestHoldWhileAThousandJobsRun(t *testing.T) {
	t.Parallel()
	const rows = 1000
	in := newInstallation(t, "space_cycle=2s")
	base := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/batch.checkm" {
			_, _ = rw.Write([]byte(r.URL.Path))
			return
		}
		names := make([]string, rows)
		for i := range names {
			names[i] = fmt.Sprintf("%04d.txt", i)
		}
		_, _ = io.WriteString(rw, batchOfFiles(r.Host, names...))
	}))
	in.says(0, words("queue pause provisioning --reason later")) // what is accepted waits there
	in.serveInProcess()
	id := in.submit(app.Deposit{Payload: base + "/batch.checkm", Type: domain.TypeFileBatchManifest})
	in.seen(20, domain.EventJobAccepted)
	in.says(0, []string{"collection", "hold", "test", "--reason", "stop"})
	moved := in.seen(rows, domain.EventJobAccepted, domain.EventJobHeld)
	var hold int64
	for _, r := range in.seen(2, domain.EventSettingChanged) {
		if r.Aggregate.ID == "collection:test" {
			hold = r.Zxid
		}
	}
	held := 0
	for _, r := range moved {
		if r.Type == domain.EventJobHeld {
			held++
		}
		if (r.Zxid > hold) != (r.Type == domain.EventJobHeld) {
			t.Errorf("%s: %s in commit %d, the hold in %d", r.Aggregate, r.Type, r.Zxid, hold)
		}
	}
	in.shown()
	v, err := in.app.Batch(in.ctx(), id, 10)
	if err != nil || held == 0 || held == rows || v.JobsHeld != int64(held) || v.JobsInProgress != int64(rows-held) || *v.RowsListed != rows {
		t.Errorf("%v: %d held, %+v", err, held, v.BatchSummary)
	}
	in.says(0, words("queue ls -o json"), fmt.Sprintf(`"jobs": %d`, held))
	in.agree()
}
