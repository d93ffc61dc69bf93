package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/synchronous"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
)

// atOnce submits a synchronous deposit with the command line, and returns its answer.
func (in *installation) atOnce(code int, payload string, more ...string) (is synchronous.Answer) {
	in.t.Helper()
	out := in.says(code, append([]string{"submit", payload, "--profile", "test", "--type", "file", "--submitter", "ana", "--sync", "-o", "json"}, more...))
	if out != "" {
		in.must(json.Unmarshal([]byte(out), &is))
	}
	return is
}

// TestSynchronousDeposits: a synchronous deposit runs beside those of its user, its answer is
// its report, and as many are taken as may run, by what is set at this moment.
func TestSynchronousDeposits(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "queue_synchronous=1", "queue_concurrency=metadata=1", "janitor_interval=200ms")
	payload := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("x")) }))
	in.serveInProcess()
	in.says(0, words("queue pause pending --reason x"))
	first := in.atOnce(9, payload+"/1.txt", "--wait", "1ms")
	if first.Done || first.Report != nil || first.State == domain.BatchCompleted {
		t.Fatalf("its jobs wait: %+v", first)
	}
	in.seenOf(first.Batch, 1, domain.EventBatchStarted)
	queued := in.depositBy("ana", payload+"/2.txt", domain.TypeFile)
	in.seenOf(queued, 1, domain.EventBatchStarted) // beside the synchronous one
	in.shown()
	refused := append(words("submit --profile test --submitter ben --sync"), payload+"/3.txt")
	in.says(7, refused, "1 synchronous deposits run, of 1 that may", "without --sync")
	in.says(0, words("queue board"), "1 running", "1 synchronous deposits run, of 1 that may", string(first.Batch))
	in.says(0, words("queue show metadata"), "synchronous", "configuration")
	for query, want := range map[string]int{
		"select count(*) from report.deposit where synchronous and state = 'running' and turn = 0":                       1,
		"select count(*) from report.deposit where not synchronous and state = 'running'":                                1,
		"select count(*) from accession.batch where ticket_synchronous and ticket_user = 'ana'":                          1,
		"select count(*) from report.deposit_wait where grabs <> 1":                                                      0,
		"select count(*) from accession.event where type = 'batch.grabbed' and batch_id = '" + string(first.Batch) + "'": 0,
	} {
		if got := in.count(query); got != want {
			t.Errorf("%s gives %d, want %d", query, got, want)
		}
	}
	in.agree()

	in.says(0, words("queue defaults metadata --synchronous 2 --reason more"), "synchronous=2")
	second := in.atOnce(9, payload+"/4.txt", "--wait", "1ms")
	in.says(7, refused, "2 synchronous deposits run, of 2 that may")
	in.says(0, words("queue free "+string(second.Batch)+" --reason stuck"))
	in.says(0, words("queue prohibit metadata ben --reason tests"))
	in.says(3, refused, "ben is taken: the user is prohibited", "accession queue show")
	in.says(0, words("queue allow metadata ben --reason tests"))
	in.says(0, words("queue suspend metadata --reason tests"))
	in.says(3, refused, "suspended")
	in.says(0, words("queue resume pending"))
	in.rest(first.Batch) // what runs goes on while its queue is suspended
	in.says(0, words("queue resume metadata --reason tests"))
	in.says(3, words("queue defaults query --synchronous 2 --reason more"), "only deposits of metadata are synchronous")
	in.says(2, words("submit x.txt --profile test --wait 3s"), "--sync")

	for _, id := range []domain.BatchID{second.Batch, queued} {
		in.rest(id)
	}
	done := in.atOnce(0, payload+"/5.txt", "--wait", "5m")
	if !done.Done || done.State != domain.BatchCompleted || done.Report == nil || len(done.Report.Jobs) != 1 || done.Report.Jobs[0].Status != string(domain.JobCompleted) {
		t.Errorf("%+v", done)
	}
	bad := in.atOnce(6, payload+"/6.txt", "--wait", "5m", "--digest", "sha256:"+strings.Repeat("0", 64))
	if !bad.Done || bad.State != domain.BatchFailed || bad.Report == nil || len(bad.Report.Retries) == 0 {
		t.Errorf("%+v", bad)
	}
	in.says(0, append(words("submit --profile test --submitter ana --sync --wait 5m"), payload+"/7.txt"), "completed")
	in.pooled(0)
	in.agree()
}

// pooled checks how many synchronous deposits have a place.
func (in *installation) pooled(want int) {
	in.t.Helper()
	handler, err := in.app.Open.Handler(in.ctx())
	in.must(err)
	p, err := handler.Rings.Pool(in.ctx(), fair.QueueMetadata)
	in.must(err)
	if p.Running != want {
		in.t.Errorf("%d synchronous deposits have a place, want %d", p.Running, want)
	}
}

// TestSynchronousKilled: processes die that work on a synchronous deposit. It keeps its place
// until its end, also in a tree that is drawn again, and then the place is free.
func TestSynchronousKilled(t *testing.T) {
	t.Parallel()
	in := newForProcesses(t, "attempts: 3", "queue_synchronous=1")
	payload := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("x")) })) + "/x.txt"
	submit := func() (domain.BatchID, error) {
		s, err := in.app.Submit(in.ctx(), app.Deposit{Profile: "test", Submitter: "ana", Payload: payload, Type: domain.TypeFile, Synchronous: true})
		return s.Batch, err
	}
	first, err := submit()
	in.must(err)
	for _, point := range thirdOf(t, []string{"daemon/batch-pending/list/before", "daemon/batch-pending/list/after", "daemon/batch-pending/create-jobs/after", "daemon/turn/move/before", "daemon/turn/move/after"}) {
		in.killedAt(point, "serve")
		in.pooled(1)
		if id, err := submit(); err == nil {
			t.Fatalf("%s runs beside %s after a death at %s", id, first, point)
		}
	}
	some := in.serveInProcess(run.RoleRelay, run.RoleProjector)
	in.shown()
	in.agree()
	fresh := in.with("zookeeper_root=" + in.cfg.ZooKeeperRoot + "/restored")
	fresh.says(0, words("restore zookeeper"), "accession verify")
	fresh.pooled(1)
	some.stop()
	fresh.serveInProcess()
	fresh.rest(first)
	fresh.pooled(0)
	in = fresh
	second, err := submit()
	in.must(err)
	in.rest(second)
	in.pooled(0)
	in.agree()
}

// TestSynchronousReportKilled: processes die while they report a synchronous deposit. Its
// place comes back with the report, once.
func TestSynchronousReportKilled(t *testing.T) {
	t.Parallel()
	in := newForProcesses(t, "attempts: 3", "queue_synchronous=1")
	payload := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("x")) })) + "/x.txt"
	s, err := in.app.Submit(in.ctx(), app.Deposit{Profile: "test", Submitter: "ana", Payload: payload, Type: domain.TypeFile, Synchronous: true})
	in.must(err)
	for _, point := range thirdOf(t, []string{"reporting/keep-report/before", "reporting/keep-report/after", "mail/send/before", "mail/send/after", "turn/move/before"}) {
		in.killedAt("daemon/"+point, "serve")
		in.pooled(1)
	}
	in.killedAt("daemon/turn/move/after", "serve")
	in.pooled(0)
	in.serveInProcess()
	in.rest(s.Batch)
	in.pooled(0)
	in.agree()
}
