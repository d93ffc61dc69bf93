package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/bulk"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// rowsThatFail serves a manifest of n rows, each of which becomes a job that fails: its file
// is not there.
func rowsThatFail(n int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/rows.checkm" {
			http.NotFound(w, r)
			return
		}
		rows := make([]string, n)
		for i := range rows {
			rows[i] = fmt.Sprintf("http://%s/%d | | | | | file-%d.bin | | local-%d | A creator | Title %d | 2026", r.Host, i, i, i, i)
		}
		_, _ = w.Write(checkm("mrt-single-file-batch-manifest", batchColumns, rows...))
	})
}

// failed deposits a batch whose jobs all fail, and waits for that.
func (in *installation) failed(payload string, jobs int) domain.BatchID {
	in.t.Helper()
	id := in.submit(app.Deposit{Payload: payload, Type: domain.TypeFileBatchManifest})
	in.seenOf(id, jobs, domain.EventJobFailed)
	in.seenOf(id, 1, domain.EventBatchFailed)
	in.shown()
	return id
}

// failedForProcesses returns an installation, for processes that are killed, with a batch
// whose jobs have all failed. Nothing serves it.
func failedForProcesses(t *testing.T, jobs int) (*installation, domain.BatchID) {
	t.Helper()
	in := newInstallation(t, append(forProcesses, "stop_grace=100ms")...)
	in.tell("queued")
	s := in.serve()
	s.works()
	id := in.failed(webServer(t, rowsThatFail(jobs))+"/rows.checkm", jobs)
	s.stop()
	return in, id
}

// TestBulkActionOfDeadProcesses: a command about 200 failed jobs is carried out although the
// processes that do it are killed, before and after things are noted, requeued, and kept. Each
// job is requeued once.
// Shows: P1 P2
func TestBulkActionOfDeadProcesses(t *testing.T) {
	t.Parallel()
	const jobs = 200
	in, id := failedForProcesses(t, jobs)
	begin := []string{"bulk", "begin", "job", "requeue", "--batch", string(id), "--state", "failed", "--reason", "tried again"}
	in.says(2, begin, "no terminal to ask at")
	in.says(0, append(begin, "--dry-run"), fmt.Sprintf("the filter selects %d jobs", jobs), "would go from failed to")
	in.says(2, words("bulk begin job requeue --yes"), "give at least one condition")
	in.says(2, append(begin[:3:3], "explode", "--state", "failed", "--yes"), "choose one of", "job requeue")
	in.says(2, words("bulk begin job delete --state failed --yes"), "needs a reason")
	var begun bulk.Action
	in.must(json.Unmarshal([]byte(in.run(append(begin, "--yes", "--no-wait", "-o", "json")...)), &begun))
	stands := func(waiting, running int64) { // as the metrics have it
		t.Helper()
		s, err := record.New(in.db).BulkStanding(in.ctx())
		if err != nil || s.Waiting != waiting || s.Running != running || s.StillSeconds > 0 != (waiting+running > 0) {
			t.Errorf("%+v, want %d waiting and %d running (%v)", s, waiting, running, err)
		}
	}
	stands(1, 0)
	for _, point := range []string{
		"record/transaction/before-commit", // the things are not noted yet
		"app/bulk/one/before:3",            // noted, some requeued
		"app/bulk/one/after:40",            // in the middle of the next ones
		"record/transaction/before-commit:2",
		"app/bulk/one/after:70",
	} {
		in.killedAt(point, "serve")
	}
	stands(0, 1)
	s := in.serve()
	s.works()
	waitFor(t, "the end of the bulk action", func() bool {
		in.must(json.Unmarshal([]byte(in.run("bulk", "show", begun.ID, "-o", "json")), &begun))
		return begun.State == bulk.Done
	})
	stands(0, 0)
	in.shown() // a process that stops at once leaves events in the outbox
	s.stop()
	if begun.Done != jobs || begun.Refused != 0 {
		t.Errorf("%+v\n%s", begun, in.run("bulk", "items", begun.ID, "--outcome", "refused"))
	}
	by := "bulk-" + begun.ID
	if events, of := in.count(`select count(*) from accession.event where type = 'job.requeued' and command_id = $1`, by),
		in.count(`select count(distinct aggregate_id) from accession.event where type = 'job.requeued' and command_id = $1`, by); events != jobs || of != jobs {
		t.Errorf("%d events of %d jobs", events, of)
	}
	if others := in.count(`select count(*) from accession.event where type = 'job.requeued' and command_id <> $1`, by); others != 0 {
		t.Errorf("%d jobs were requeued by another command", others)
	}
	in.says(0, words("bulk ls --state done --since 1h"), begun.ID, "done", "state=failed")
	for _, none := range []string{"--state running", "--since 2099-01-01", "--older-than 1h"} {
		in.says(0, words("bulk ls "+none), "no bulk actions")
	}
}

// TestJobsThatFailAgainUnderABulkAction: a process is killed when it has requeued jobs and not
// yet kept that it has. These fail again before another process goes on; it finds that they were
// requeued, and does not requeue them again. So it is with a command about a file and its job.
// Shows: P1 P2
func TestJobsThatFailAgainUnderABulkAction(t *testing.T) {
	t.Parallel()
	const jobs = 24
	in, id := failedForProcesses(t, jobs)
	var begun bulk.Action
	in.must(json.Unmarshal([]byte(in.run("bulk", "begin", "job", "requeue", "--batch", string(id), "--state", "failed", "--yes", "--no-wait", "-o", "json")), &begun))
	in.killedAt("app/bulk/one/after:8", "serve")
	events := func(which domain.EventType) int {
		in.shown()
		return in.count(`select count(*) from accession.event where type = $1`, which)
	}
	records, err := in.wired.Records(in.ctx())
	in.must(err)
	waitFor(t, "the lead of the bulk action", func() bool {
		leads, err := records.LeadBulkAction(in.ctx(), begun.ID, func() error { // no process goes on meanwhile
			in.serve()
			waitFor(t, "the jobs to fail again", func() bool {
				requeued := events(domain.EventJobRequeued)
				return requeued >= 8 && events(domain.EventJobFailed) == jobs+requeued
			})
			return nil
		})
		in.must(err)
		return leads
	})
	waitFor(t, "the end of the bulk action", func() bool {
		in.must(json.Unmarshal([]byte(in.run("bulk", "show", begun.ID, "-o", "json")), &begun))
		return begun.State == bulk.Done
	})
	if begun.Done != jobs || begun.Refused != 0 {
		t.Errorf("%+v\n%s", begun, in.run("bulk", "items", begun.ID, "--outcome", "refused"))
	}
	if n := events(domain.EventJobRequeued); n != jobs {
		t.Fatalf("%d of %d jobs were requeued", n, jobs)
	}
	waitFor(t, "the jobs to fail again", func() bool { return events(domain.EventJobFailed) == 2*jobs })
	in.requeuedInTwo()
}

// requeuedInTwo requeues a file that was given up, and so its failed job, by a command that is
// killed between the two. The next one completes it.
func (in *installation) requeuedInTwo() {
	in.t.Helper()
	var hash, job string
	in.must(in.db.QueryRow(in.ctx(), `select raw_file_hash, job_id from accession.file where status in ('IGNORE', 'ABANDONED') order by raw_file_hash limit 1`).Scan(&hash, &job))
	requeue := []string{"file", "requeue", hash, "--reason", "found", "--yes"}
	in.killedAt("zklive/deliver/multi/before", requeue...)
	in.shown()
	if n := in.count(`select count(*) from accession.file f join accession.job j on j.id = f.job_id where f.raw_file_hash = $1 and f.status = 'DISCOVERED' and j.status = 'failed'`, hash); n != 1 {
		in.t.Error("the command was not killed between the two changes")
	}
	in.says(0, requeue, "its job "+job+" is requeued")
	in.shown()
	if n := in.count(`select count(*) from accession.event where type = 'job.requeued' and aggregate_id = $1 and actor like 'user/%'`, job); n != 2 {
		in.t.Errorf("the job was requeued %d times, want 2", n)
	}
}

// TestBulkActionsOverHTTP: an operator of one collection gives commands about what is of that
// collection, once under a key; what cannot be changed is listed with the reason; nothing more
// is taken when it is cancelled, or when the right is withdrawn.
func TestBulkActionsOverHTTP(t *testing.T) {
	t.Parallel()
	const jobs = 3
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	in.profileOfRocks("")
	in.tell("queued")
	olga, ana := in.keyOf("olga", "operator", "--collection", "test"), in.keyOf("ana", "depositor", "--all")
	s := in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...)
	d, base := in.doorOf(s), webServer(t, rowsThatFail(jobs))
	of := in.failed(base+"/rows.checkm", jobs)
	other := in.depositFor("rocks", "bob", base+"/rows.checkm", domain.TypeFileBatchManifest)
	in.seenOf(other, 1, domain.EventBatchFailed)
	in.shown()

	request := `{"kind":"job","verb":"requeue","filter":{"state":"failed"},"reason":"tried again"}`
	begin := func(body string, headers ...string) (begun bulk.Action) {
		t.Helper()
		d.ask(olga, "POST", "/v1/bulk-actions", body, headers...).into(d, &begun)
		return begun
	}
	d.ask(ana, "POST", "/v1/bulk-actions", request).is(d, 403, app.Forbidden)
	d.ask(olga, "POST", "/v1/bulk-actions", `{"kind":"job","verb":"requeue","filter":{}}`).is(d, 400, app.Invalid)
	d.ask(olga, "POST", "/v1/bulk-actions", `{"kind":"job","verb":"requeue","filter":{"state":"lost"}}`).is(d, 400, app.Invalid)
	d.ask(olga, "POST", "/v1/bulk-actions", `{"kind":"batch","verb":"release","filter":{"job":"jid0000000001"}}`).is(d, 400, app.Invalid)
	var would bulk.Action
	d.ask(olga, "POST", "/v1/bulk-actions?dry_run=true", request).into(d, &would)
	if would.ID != "" || *would.Matched != jobs || len(would.First) != jobs || would.First[0].Change == nil {
		t.Errorf("%+v", would)
	}
	first, again := begin(request, "Idempotency-Key: one"), begin(request, "Idempotency-Key: one")
	if first.ID == "" || first.ID != again.ID {
		t.Errorf("%+v, then %+v", first, again)
	}
	d.ask(olga, "POST", "/v1/bulk-actions", strings.Replace(request, "requeue", "fail", 1), "Idempotency-Key: one").is(d, 422, app.KeyReused)
	ended := func(id string) (now bulk.Action) {
		t.Helper()
		waitFor(t, "the end of the bulk action", func() bool {
			d.ask(olga, "GET", "/v1/bulk-actions/"+id, "").into(d, &now)
			return now.EndedAt != nil
		})
		return now
	}
	if now := ended(first.ID); now.Done != jobs || now.Refused != 0 || now.State != bulk.Done {
		t.Errorf("%+v", now)
	}
	in.seenOf(of, 2*jobs, domain.EventJobFailed) // again, for the files are still not there
	in.shown()
	if n := in.count(`select count(*) from accession.event where type = 'job.requeued' and batch_id = $1 and actor = 'user/olga' and command_id = $2`, string(of), "bulk-"+first.ID); n != jobs {
		t.Fatalf("%d of %d jobs were requeued", n, jobs)
	}
	if n := in.count(`select count(*) from accession.event where type = 'job.requeued' and batch_id = $1`, string(other)); n != 0 {
		t.Errorf("%d jobs of another collection were requeued", n)
	}

	// Failed jobs cannot be held.
	held := ended(begin(`{"kind":"job","verb":"hold","filter":{"batch":"` + string(of) + `"}}`).ID)
	if held.Done != 0 || held.Refused != jobs {
		t.Errorf("%+v", held)
	}
	var items app.Page[bulk.Item]
	d.ask(olga, "GET", "/v1/bulk-actions/"+held.ID+"/items?outcome=refused&limit=2", "").into(d, &items)
	if len(items.Items) != 2 || items.Next == "" || items.Items[0].Code != string(app.Refused) || !strings.Contains(items.Items[0].Message, "is failed: hold is not possible") {
		t.Errorf("%+v", items)
	}
	d.ask(ana, "GET", "/v1/bulk-actions", "").is(d, 403, app.Forbidden)
	oscar := in.keyOf("oscar", "operator", "--collection", "rocks")
	d.ask(oscar, "GET", "/v1/bulk-actions/"+held.ID, "").is(d, 404, app.NotFound)
	if mine := idsIn(d.ask(oscar, "GET", "/v1/bulk-actions", "").body); len(mine) != 0 {
		t.Errorf("oscar sees %v", mine)
	}

	// While nothing carries them out, one is cancelled, and the right for another is withdrawn.
	s.stop()
	s = in.serveInProcess(run.RoleHTTP)
	d = in.doorOf(s)
	one, two := begin(request), begin(request)
	var cancelled bulk.Action
	var tried bulk.Action
	d.ask(olga, "POST", "/v1/bulk-actions/"+one.ID+"/cancel?dry_run=true", "").into(d, &tried)
	d.ask(olga, "GET", "/v1/bulk-actions/"+one.ID, "").into(d, &cancelled)
	if !tried.DryRun || tried.State != bulk.Cancelled || cancelled.State != bulk.Waiting {
		t.Errorf("it would be %+v, and is %+v", tried, cancelled)
	}
	d.ask(olga, "POST", "/v1/bulk-actions/"+one.ID+"/cancel", "").into(d, &cancelled)
	in.says(0, words("user withdraw olga operator --collection test"))
	s.stop()
	in.serveInProcess()
	for id, by := range map[string]string{one.ID: "user/olga", two.ID: "may not act any more"} {
		var now bulk.Action
		waitFor(t, "the end of the bulk action", func() bool {
			in.must(json.Unmarshal([]byte(in.run("bulk", "show", id, "-o", "json")), &now))
			return now.EndedAt != nil
		})
		if now.State != bulk.Cancelled || now.Done != 0 || !strings.Contains(now.CancelledBy, by) {
			t.Errorf("%+v", now)
		}
	}
	in.says(4, words("bulk show 0198c5f3-7b1e-7c50-a6ff-6f3f5b1f7c21"), "no such bulk action")
}
