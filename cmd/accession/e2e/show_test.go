package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/ops"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

var (
	answered    = regexp.MustCompile(`msg="operators are answered" address=(\S+)`)
	traceparent = regexp.MustCompile(`^00-([0-9a-f]{32})-[0-9a-f]{16}-01$`)
)

// shown asks the operators' listener of a service, whose log tells where it is.
func shown(t *testing.T, log *lockedBuffer, target string) (int, string) {
	t.Helper()
	at := answered.FindStringSubmatch(log.String())
	if at == nil {
		t.Fatalf("the log does not tell where operators are answered:\n%s", log)
	}
	tr := &http.Transport{DisableKeepAlives: true}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get("http://" + at[1] + target)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// becomes waits until /readyz says something.
func becomes(t *testing.T, log *lockedBuffer, code int, says string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; <-tick.C {
		got, text := shown(t, log, "/readyz")
		if got == code && strings.Contains(text, says) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("/readyz answers %d %q, want %d %q", got, text, code, says)
		}
	}
}

// TestOperatorsSeeWhatGoesOn: a deposit shows in the numbers, its events carry the
// trace that the log names, and what a process needs is named when it is missing.
func TestOperatorsSeeWhatGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "listen_ops=127.0.0.1:0")
	log, stop := w.serveLogged()
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("tide\n")) }))
	id := w.submit(app.Deposit{Payload: base + "/tide.csv"})
	if v := w.rest(id); v.Status != string(domain.BatchCompleted) {
		t.Fatalf("%+v", v.BatchSummary)
	}
	w.traced(log)
	becomes(t, log, http.StatusOK, "ok")
	_, text := shown(t, log, "/metrics")
	for _, want := range []string{
		`accession_transitions_total{aggregate="job",from="downloading",outcome="done",to="processing"} 1`,
		`accession_transitions_total{aggregate="job",from="notify",outcome="done",to="completed"} 1`,
		`accession_state_seconds_count{aggregate="job",state="processing"} 1`,
		`accession_claims_total{aggregate="job",state="processing"} `,
		`accession_steps_total{daemon="job-processing",outcome="moved"} `,
		`accession_duplicate_discoveries_total 0`, `accession_fetched_bytes_total 5`, `accession_stored_bytes_total 5`,
		`accession_effects_total{effect="inventory",outcome="done"} 1`,
		`accession_effects_total{effect="message",outcome="done"} 1`,
		`accession_file_transitions_total{from="DOWNLOADING",to="DOWNLOADED"} 1`,
		`accession_log_appends_total{outcome="done",writer="relay"} `,
		`accession_batches_unexplained 0`, `accession_queue_jobs{state="failed"} 0`, `accession_queue_oldest_seconds{state="pending"} 0`,
		`accession_outbox_unsent `, `accession_projection_lag_events `, `accession_processes `,
		`accession_session_live 1`, `accession_sessions_lost_total 0`, `accession_build_info{instance="test",version="test"} 1`,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("the scrape lacks %s", want)
		}
	}
	for _, c := range []struct{ path, name string }{{w.cfg.WorkDir, "work_dir"}, {w.cfg.Store, "store"}} {
		if err := os.Rename(c.path, c.path+".away"); err != nil {
			t.Fatal(err)
		}
		becomes(t, log, http.StatusServiceUnavailable, "not ready: "+c.name)
		if err := os.Rename(c.path+".away", c.path); err != nil {
			t.Fatal(err)
		}
		becomes(t, log, http.StatusOK, "ok")
	}
	var r ops.Readiness
	if _, text := shown(t, log, "/readyz?verbose"); json.Unmarshal([]byte(text), &r) != nil || !r.Ready {
		t.Errorf("verbose: %s", text)
	}
	var names []string
	for _, c := range r.Checks {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "nats outbox postgres projection store work_dir zookeeper" {
		t.Errorf("checks: %s", got)
	}
	stop()
}

// traced fails the test unless every event carries a trace, and the log of the
// service names those of its daemons' moves.
func (w *world) traced(log *lockedBuffer) {
	w.t.Helper()
	l, err := w.wired.Log(w.ctx())
	if err != nil {
		w.t.Fatal(err)
	}
	text := log.String()
	for r, err := range l.Read(w.ctx(), eventstore.ReadOptions{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		id := traceparent.FindStringSubmatch(r.TraceParent)
		if id == nil {
			w.t.Errorf("%s %s has the traceparent %q", r.ID(), r.Type, r.TraceParent)
			continue
		}
		if r.Aggregate.Kind == domain.KindJob && r.Type != domain.EventJobCreated && !strings.Contains(text, "trace="+id[1]) {
			w.t.Errorf("no line of the log has the trace of %s %s", r.ID(), r.Type)
		}
	}
}

// TestAStopIsSeenAtOnce: while a step still runs in its grace time, nobody sends
// more work here.
func TestAStopIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "listen_ops=127.0.0.1:0", "stop_grace=1m")
	asked, open := make(chan struct{}), make(chan struct{})
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			close(asked)
			<-open
		}
		_, _ = w.Write([]byte("tide\n"))
	}))
	log, stop := w.serveLogged()
	becomes(t, log, http.StatusOK, "ok")
	w.submit(app.Deposit{Payload: base + "/tide.csv"})
	<-asked
	stopped := make(chan struct{})
	go func() { defer close(stopped); stop() }()
	becomes(t, log, http.StatusServiceUnavailable, "not ready: stopping")
	if strings.Contains(log.String(), "msg=stopped") {
		t.Error("it stopped while a step had time to end")
	}
	close(open)
	<-stopped
	text := log.String()
	at := -1
	for _, line := range []string{`msg="stopping: no new claims"`, "msg=moved", "msg=stopped"} {
		i := strings.LastIndex(text, line)
		if i < at {
			t.Errorf("%s comes too early", line)
		}
		at = i
	}
}

// TestOnePortIsForOneProcess: that the operators' port is taken is said with what
// to do about it, before anything is opened.
func TestOnePortIsForOneProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "listen_ops=127.0.0.1:0")
	log, stop := w.serveLogged()
	defer stop()
	w.set["listen_ops"] = answered.FindStringSubmatch(log.String())[1]
	code, _, errs := w.call("serve")
	if code != 1 || !strings.Contains(errs, "address already in use") || !strings.Contains(errs, "hint: the setting listen_ops") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
