package e2e

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/status"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/cmd/internal/wire"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
)

// webServer starts a depositor's web server.
func webServer(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// outcome is what a report says of a job, in one line.
func outcome(j app.JobRow) string {
	s := fmt.Sprintf("%s %s", j.ErcWhat, j.Status)
	if j.ReasonCode != nil && j.Status != "completed" {
		s += " " + *j.ReasonCode
	}
	return s
}

// Shows: P1 P4
func TestDepositsWalkAllTheWayThrough(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, samples.Handler())
	stop := in.serveInProcess().stop
	local := filepath.Join(t.TempDir(), "letter.txt")
	if err := os.WriteFile(local, []byte("a letter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	batch := in.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest, Title: "batch"})
	object := in.submit(app.Deposit{Payload: base + samples.ObjectManifest, Type: domain.TypeObjectManifest, Title: "object"})
	single := in.submit(app.Deposit{Payload: base + samples.SingleFile, Title: "single"})
	upload := in.submit(app.Deposit{Payload: local, Title: "upload", Digest: "md5:5aad2c1cb8bd98a0f9de9f3f1ba09dfc"})

	var want, got []string
	failed := 0
	for _, o := range samples.Objects() {
		line := o.Title + " completed"
		if o.Fails {
			failed++
			line = o.Title + " failed digest_mismatch"
		}
		want = append(want, line)
	}
	v := in.rest(batch)
	for _, j := range v.Jobs {
		got = append(got, outcome(j))
		if j.Status == "completed" {
			in.stored(j)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the batch's jobs (-want +got):\n%s", diff)
	}
	if v.Status != "failed" || *v.RowsListed != int64(len(want)) || v.JobsFailed != int64(failed) || len(v.ReportsMade) != 1 || len(v.Retries) != failed {
		t.Errorf("the batch's report: %+v", v.BatchSummary)
	}
	for id, title := range map[domain.BatchID]string{object: "object", single: "single"} {
		v := in.rest(id)
		if v.Status != "completed" || len(v.Jobs) != 1 || outcome(v.Jobs[0]) != title+" completed" || len(v.Retries) != 0 {
			t.Errorf("%s: %+v", title, v)
			continue
		}
		in.stored(v.Jobs[0])
	}
	// The digest that its depositor gave is not that of the letter.
	if v := in.rest(upload); v.Status != "failed" || outcome(v.Jobs[0]) != "upload failed digest_mismatch" {
		t.Errorf("upload: %+v", v)
	}
	in.agree()
	stop()
	in.agree()
	// Without a fault each effect is begun once; a machine that is too busy for a session may
	// make another worker begin some again.
	if all, again := in.count("select count(*) from record.effect"), in.count("select count(*) from record.effect where begun > 1"); all == 0 || 2*again > all {
		t.Errorf("%d of %d effects were begun more than once", again, all)
	}
}

// stored checks that the object is where its job says.
func (in *installation) stored(j app.JobRow) {
	in.t.Helper()
	if j.ManifestKey == nil || !strings.HasPrefix(j.PrimaryIdentifier, "ark:/99999/fk4") {
		in.t.Errorf("%s: identifier %q, manifest %v", j.ID, j.PrimaryIdentifier, j.ManifestKey)
		return
	}
	data, err := os.ReadFile(filepath.Join(in.cfg.Store, filepath.FromSlash(*j.ManifestKey)))
	if err != nil || !strings.Contains(string(data), j.PrimaryIdentifier) {
		in.t.Errorf("%s: storage manifest: %v, %.100s", j.ID, err, data)
	}
}

// A failed job that is sent back succeeds once its cause is gone, and the second
// report says so; the first failure stays in the history.
func TestRequeueAndSecondReport(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	gate := make(chan struct{})
	base := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		select {
		case <-gate:
			_, _ = rw.Write([]byte("found again\n"))
		default:
			http.Error(rw, "lost", http.StatusNotFound)
		}
	}))
	in.serveInProcess()
	id := in.submit(app.Deposit{Payload: base + "/lost.txt", Title: "lost"})
	v := in.rest(id)
	if v.Status != "failed" || outcome(v.Jobs[0]) != "lost failed http_status" {
		t.Fatalf("first report: %+v", v.Jobs)
	}
	close(gate)
	job := domain.JobID(v.Jobs[0].ID)
	end, err := in.app.LogEnd(in.ctx())
	if err != nil {
		t.Fatal(err)
	}
	moved, err := in.app.Requeue(in.ctx(), job, "it was found")
	if err != nil || moved.Row != "J16" {
		t.Fatalf("requeue: %+v, %v", moved, err)
	}
	in.until(end+1, domain.EventJobCompleted)
	if _, err := in.app.RequestUpdate(in.ctx(), id, ""); err != nil {
		t.Fatal(err)
	}
	in.until(end+1, domain.EventBatchCompleted)
	if err := in.app.CatchUp(in.ctx()); err != nil {
		t.Fatal(err)
	}
	v, err = in.app.BatchReport(in.ctx(), id, 10)
	if err != nil || v.Status != "completed" || len(v.ReportsMade) != 2 || len(v.ReportsMade[1].NewlySuccessfulJobs) != 1 {
		t.Errorf("second report: %v, %+v", err, v)
	}
	if end, err := in.app.Watch(in.ctx(), id, 0, func(app.Event, app.Progress) {}); err != nil || end.State != domain.BatchCompleted || end.Completed != 1 {
		t.Errorf("who watches it now is told of %+v, %v", end, err)
	}
	if len(v.Retries) != 1 || v.Retries[0].Outcome != "succeeded" || *v.Retries[0].ResumedBy != "user/test" {
		t.Errorf("retry history: %+v", v.Retries)
	}
	in.agree()
}

// until follows the log until an event of the type is seen.
func (in *installation) until(from uint64, want domain.EventType) {
	in.t.Helper()
	for e, err := range in.app.Tail(in.ctx(), app.TailOptions{Selection: app.Selection{From: from}, Follow: true}) {
		if err != nil {
			in.t.Fatal(err)
		}
		if e.Type == want {
			return
		}
	}
	in.t.Fatalf("no %s came", want)
}

// What is under way when the service stops is released and done by the next.
func TestStopHandsBackAndTheNextStartGoesOn(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "stop_grace=100ms", "workers=job-downloading=3")
	asked, gate := make(chan struct{}, 100), make(chan struct{})
	base := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			asked <- struct{}{}
			select {
			case <-gate:
			case <-r.Context().Done():
				return
			}
		}
		_, _ = rw.Write([]byte("slow " + r.URL.Path))
	}))
	stop := in.serveInProcess().stop
	ids := make([]domain.BatchID, 5)
	for i := range ids {
		ids[i] = in.submit(app.Deposit{Payload: fmt.Sprintf("%s/%d.txt", base, i), Title: "slow"})
	}
	<-asked
	<-asked
	stop()
	in.agree()
	close(gate)
	in.serveInProcess()
	for _, id := range ids {
		if v := in.rest(id); v.Status != "completed" || len(v.Retries) != 0 {
			t.Errorf("%s: %s, %+v", id, v.Status, v.Jobs)
		}
	}
	in.agree()
}

// Roles may run in processes of their own, several of each.
func TestRolesInSeveralProcesses(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, samples.Handler())
	in.serveInProcess("daemons")
	in.serveInProcess("daemons")
	in.serveInProcess("relay", "projector")
	first := in.serveInProcess("relay", "projector").stop
	batch := in.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest})
	first()
	if v := in.rest(batch); v.JobsInProgress != 0 || v.JobsCompleted == 0 {
		t.Errorf("%+v", v.BatchSummary)
	}
	in.agree()
}

func TestStatusTellsWhoServes(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	s := status.Of(in.ctx(), in.app)
	if !s.OK() || s.Projection == nil || s.Projection.PendingMigrations != 0 || s.Outbox == nil || len(s.Workers) != 0 {
		t.Errorf("nobody serves: %+v", s)
	}
	in.serveInProcess()
	if s = status.Of(in.ctx(), in.app); len(s.Workers) != 1 || len(s.Workers[0].Roles) != len(run.AllRoles) {
		t.Errorf("one process serves: %+v", s)
	}
}

// Every server that does not answer is named, with where it was looked for; what
// the others say is shown all the same.
func TestStatusNamesWhatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	in, closed := newInstallation(t), closedPort(t)
	live, err := in.wired.LiveState(in.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := live.ReserveBatchID(in.ctx()); err != nil { // a tree in use: a new one is not opened without the log
		t.Fatal(err)
	}
	for name, at := range map[string]string{
		app.ServerZooKeeper: closed, app.ServerNATS: "nats://" + closed, app.ServerPostgres: "postgres://me@" + closed + "/x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := maps.Clone(in.settings)
			set[name] = at
			cfg, err := config.Load(config.Sources{Flags: set})
			if err != nil {
				t.Fatal(err)
			}
			wired := wire.New(cfg, slog.New(slog.DiscardHandler))
			t.Cleanup(func() {
				if err := wired.Close(); err != nil {
					t.Error(err)
				}
			})
			s := status.Of(t.Context(), &app.App{Open: wired.Resources(), Actor: "user/test"})
			if s.OK() || len(s.Servers) != 3 {
				t.Fatalf("all is said to be well: %+v", s.Servers)
			}
			for _, server := range s.Servers {
				if away := server.Name == name; server.OK == away || (server.Error != "") != away || strings.Contains(server.URL, closed) != away {
					t.Errorf("%s is away, and %s: %+v", name, server.Name, server)
				}
			}
			told := map[string]bool{app.ServerZooKeeper: s.Outbox != nil, app.ServerNATS: s.Log != nil, app.ServerPostgres: s.Projection != nil}
			for server, got := range told {
				if got == (server == name) {
					t.Errorf("%s is away, and what %s says is told: %v", name, server, got)
				}
			}
		})
	}
}
