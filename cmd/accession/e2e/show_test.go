package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/ops"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

var (
	traceparent = regexp.MustCompile(`^00-([0-9a-f]{32})-[0-9a-f]{16}-01$`)
)

// TestOperatorsSeeWhatGoesOn: a deposit shows in the numbers, its events carry the
// trace that the log names, and what a process needs is named when it is missing.
func TestOperatorsSeeWhatGoesOn(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "log_level=debug", "listen_ops=127.0.0.1:0")
	s := in.serveInProcess()
	log, stop := s.log, s.stop
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("tide\n")) }))
	id := in.submit(app.Deposit{Payload: base + "/tide.csv"})
	if v := in.rest(id); v.Status != string(domain.BatchCompleted) {
		t.Fatalf("%+v", v.BatchSummary)
	}
	in.traced(log)
	s.until(http.StatusOK, "ok")
	_, text := s.asked("/metrics")
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
		`accession_outbox_unsent `, `accession_projection_lag_events `, `accession_bulk_actions{state="running"} 0`, `accession_bulk_still_seconds 0`, `accession_processes `,
		`accession_session_live 1`, `accession_sessions_lost_total 0`, `accession_build_info{instance="test",version="test"} 1`,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("the scrape lacks %s", want)
		}
	}
	for _, c := range []struct{ path, name string }{{in.cfg.WorkDir, "work_dir"}, {in.cfg.Store, "store"}} {
		if err := os.Rename(c.path, c.path+".away"); err != nil {
			t.Fatal(err)
		}
		s.until(http.StatusServiceUnavailable, "not ready: "+c.name)
		if err := os.Rename(c.path+".away", c.path); err != nil {
			t.Fatal(err)
		}
		s.until(http.StatusOK, "ok")
	}
	var r ops.Readiness
	if _, text := s.asked("/readyz?verbose"); json.Unmarshal([]byte(text), &r) != nil || !r.Ready {
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
func (in *installation) traced(log *lockedBuffer) {
	in.t.Helper()
	l, err := in.wired.Log(in.ctx())
	if err != nil {
		in.t.Fatal(err)
	}
	text := log.String()
	for r, err := range l.Read(in.ctx(), eventstore.ReadOptions{}) {
		if err != nil {
			in.t.Fatal(err)
		}
		id := traceparent.FindStringSubmatch(r.TraceParent)
		if id == nil {
			in.t.Errorf("%s %s has the traceparent %q", r.ID(), r.Type, r.TraceParent)
			continue
		}
		if r.Aggregate.Kind == domain.KindJob && r.Type != domain.EventJobCreated && !strings.Contains(text, "trace="+id[1]) {
			in.t.Errorf("no line of the log has the trace of %s %s", r.ID(), r.Type)
		}
	}
}

// TestAStopIsSeenAtOnce: while a step still runs in its grace time, no load balancer sends
// more work here.
func TestAStopIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "log_level=debug", "listen_ops=127.0.0.1:0", "stop_grace=1m")
	asked, open := make(chan struct{}), make(chan struct{})
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			close(asked)
			<-open
		}
		_, _ = w.Write([]byte("tide\n"))
	}))
	s := in.serveInProcess()
	log, stop := s.log, s.stop
	s.until(http.StatusOK, "ok")
	in.submit(app.Deposit{Payload: base + "/tide.csv"})
	<-asked
	stopped := make(chan struct{})
	go func() { defer close(stopped); stop() }()
	s.until(http.StatusServiceUnavailable, "not ready: stopping")
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
	in := newInstallation(t, "log_level=debug", "listen_ops=127.0.0.1:0")
	s := in.serveInProcess()
	log, stop := s.log, s.stop
	defer stop()
	in.settings["listen_ops"] = operatorsAt.FindStringSubmatch(log.String())[1]
	code, _, errs := in.call("serve")
	if code != 1 || !strings.Contains(errs, "address already in use") || !strings.Contains(errs, "hint: the setting listen_ops") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
