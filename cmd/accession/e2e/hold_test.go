package e2e

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// says runs a command line, which must end with the code and say all of this.
func (w *world) says(code int, args []string, texts ...string) string {
	w.t.Helper()
	got, out, errs := w.call(args...)
	if got != code {
		w.t.Fatalf("accession %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, errs)
	}
	for _, text := range texts {
		if !strings.Contains(out+errs, text) {
			w.t.Errorf("accession %s does not say %q:\n%s%s", strings.Join(args, " "), text, out, errs)
		}
	}
	return out
}

func words(s string) []string { return strings.Fields(s) }

// seen follows the log from its start until n events of the types were seen, and
// gives them.
func (w *world) seen(n int, types ...domain.EventType) []domain.Recorded {
	w.t.Helper()
	return w.seenOf("", n, types...)
}

// seenOf is the same for one batch and its jobs, "" = all.
func (w *world) seenOf(batch domain.BatchID, n int, types ...domain.EventType) []domain.Recorded {
	w.t.Helper()
	log, err := w.wired.Log(w.ctx())
	if err != nil {
		w.t.Fatal(err)
	}
	var found []domain.Recorded
	for r, err := range log.Read(w.ctx(), eventstore.ReadOptions{Follow: true}) {
		if err != nil {
			w.t.Fatalf("%d of %d events %v: %v", len(found), n, types, err)
		}
		if slices.Contains(types, r.Type) && (batch == "" || r.BatchID == batch) {
			if found = append(found, r); len(found) == n {
				break
			}
		}
	}
	return found
}

// shown waits until the tables have what is committed now.
func (w *world) shown() {
	w.t.Helper()
	if err := w.app.CatchUp(w.ctx()); err != nil {
		w.t.Fatal(err)
	}
}

// A hold that stands before a batch comes parks the batch, until hold and batch are
// released, in this order.
func TestHoldBeforeABatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := webServer(t, samples.Handler())
	w.serve()
	w.says(0, []string{"collection", "hold", "test", "--reason", "new terms", "--dry-run"}, "test would go from open to on hold")
	w.says(0, []string{"collection", "hold", "test", "--reason", "new terms"}, "test is on hold now, was open")
	w.says(3, words("collection hold test"), "collection test is already on hold", "hint: `accession collection ls`")
	id := w.submit(app.Deposit{Payload: base + samples.SingleFile})
	w.seen(1, domain.EventBatchHeld)
	w.shown()
	w.says(0, words("collection ls"), "on hold", "new terms", "user/")
	w.says(0, words("collection ls -o json"), `"batches_held": 1`, `"jobs_held": 0`, `"why": "new terms"`)
	w.says(3, words("batch release "+string(id)), "collection test is on hold, set by user/", "lift that hold first", "hint: `accession collection ls`")
	w.says(3, words("batch release "+string(id)+" --dry-run"), "lift that hold first")
	w.says(0, []string{"collection", "release", "test", "--reason", "signed"}, "test is open now, was on hold", "accession batch release")
	w.says(3, words("batch update-report "+string(id)), "is held: update-report is not possible (possible from here: pending, deleted)", "accession batch release "+string(id))
	w.says(0, words("batch release "+string(id)), "is pending now, was held (B4)")
	w.seen(1, domain.EventBatchCompleted)
	for _, r := range w.seen(2, domain.EventSettingChanged) {
		if d := r.Data.(*domain.SettingChanged); !strings.HasPrefix(string(r.Actor), "user/") || d.Why == "" {
			t.Errorf("%s by %q because of %q", r.ID(), r.Actor, d.Why)
		}
	}
	w.agree()
}

// A hold that comes when the jobs are made and none is begun parks the jobs.
func TestHoldBetweenBatchAndJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := webServer(t, samples.Handler())
	w.serve()
	w.says(0, []string{"queue", "pause", "pending", "--reason", "wait for the terms"}, "pending is paused now, was open")
	id := w.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest})
	w.seen(1, domain.EventBatchStarted)
	n := len(samples.Objects())
	w.says(0, words("queue ls"), "wait for the terms", "paused", "user/")
	w.says(0, words("collection hold test"), "on hold")
	w.says(0, words("queue resume pending"), "pending is open now, was paused")
	held := w.seen(n, domain.EventJobHeld, domain.EventJobAccepted)
	var jobs []string
	for _, r := range held {
		if r.Type != domain.EventJobHeld {
			t.Fatalf("%s was accepted behind the hold", r.Aggregate)
		}
		jobs = append(jobs, r.Aggregate.ID)
	}
	w.shown()
	w.says(0, words("collection ls -o json"), fmt.Sprintf(`"jobs_held": %d`, n))
	w.says(3, append(words("job release"), jobs...), "collection test is on hold", jobs[0], jobs[n-1])
	w.says(0, words("collection release test"))
	w.says(0, append(words("job release -o json"), jobs...), `"row": "J3"`)
	if v := w.rest(id); v.JobsFailed != 1 || v.JobsCompleted != int64(n-1) || v.JobsHeld != 0 {
		t.Errorf("%+v", v.BatchSummary)
	}
	w.agree()
}

// A hold that comes while a batch of a thousand jobs runs: in the order of commits
// no job of it is accepted behind the hold, what is past goes on, the others wait,
// and the batch adds up.
// Shows: P1
func TestHoldWhileAThousandJobsRun(t *testing.T) {
	t.Parallel()
	const rows = 1000
	w := newWorld(t, "space_cycle=2s")
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
	w.says(0, words("queue pause provisioning --reason later")) // what is accepted waits there
	w.serve()
	id := w.submit(app.Deposit{Payload: base + "/batch.checkm", Type: domain.TypeFileBatchManifest})
	w.seen(20, domain.EventJobAccepted)
	w.says(0, []string{"collection", "hold", "test", "--reason", "stop"})
	moved := w.seen(rows, domain.EventJobAccepted, domain.EventJobHeld)
	var hold int64
	for _, r := range w.seen(2, domain.EventSettingChanged) {
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
	w.shown()
	v, err := w.app.Batch(w.ctx(), id, 10)
	if err != nil || held == 0 || held == rows || v.JobsHeld != int64(held) || v.JobsInProgress != int64(rows-held) || *v.RowsListed != rows {
		t.Errorf("%v: %d held, %+v", err, held, v.BatchSummary)
	}
	w.says(0, words("queue ls -o json"), fmt.Sprintf(`"jobs": %d`, held))
	w.agree()
}
