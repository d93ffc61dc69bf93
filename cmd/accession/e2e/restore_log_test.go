package e2e

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// forgetful is a NATS server of a test's own whose stream can lose its tail: what it
// had written at one moment is put in place of what it has.
type forgetful struct {
	t      *testing.T
	dir    string
	port   int
	server *natsserver.Server
}

func newForgetful(t *testing.T) *forgetful {
	t.Helper()
	f := &forgetful{t: t, dir: filepath.Join(t.TempDir(), "store"), port: natsserver.RANDOM_PORT}
	f.start()
	t.Cleanup(f.stop)
	return f
}

func (f *forgetful) start() {
	f.t.Helper()
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: f.port, NoSigs: true, NoLog: true, JetStream: true, StoreDir: f.dir,
		JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 1 << 30})
	if err != nil {
		f.t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(patience) {
		f.t.Fatal("NATS does not start")
	}
	f.server, f.port = s, s.Addr().(*net.TCPAddr).Port
}

func (f *forgetful) stop() {
	f.server.Shutdown()
	f.server.WaitForShutdown()
}

// keep notes what it has now; the answer puts it back and forgets the rest.
func (f *forgetful) keep() (forget func()) {
	f.t.Helper()
	copied := filepath.Join(f.t.TempDir(), "copy")
	f.stop()
	if err := os.CopyFS(copied, os.DirFS(f.dir)); err != nil {
		f.t.Fatal(err)
	}
	f.start()
	return func() {
		f.t.Helper()
		f.stop()
		if err := errors.Join(os.RemoveAll(f.dir), os.CopyFS(f.dir, os.DirFS(copied))); err != nil {
			f.t.Fatal(err)
		}
		f.start()
	}
}

// history gives all events of the log, as the tables are compared with it.
func (w *world) history() (all []domain.Recorded) {
	w.t.Helper()
	log, err := w.wired.Log(w.ctx())
	if err != nil {
		w.t.Fatal(err)
	}
	for r, err := range log.Read(w.ctx(), eventstore.ReadOptions{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		r.Stored = r.Stored.Round(time.Microsecond)
		all = append(all, r)
	}
	return all
}

// deposit takes a file in and waits until everything about it has ended.
func (w *world) deposit(n int) domain.BatchID {
	w.t.Helper()
	id := w.submit(app.Deposit{Payload: webServer(w.t, samples.Handler()) + samples.SingleFile})
	w.seen(n, domain.EventJobCleaned)
	w.seen(n, domain.EventBatchReported)
	return id
}

// A stream that lost its tail gets it back from the tables, event by event as it was.
// Shows: C8 P3
func TestRestoreLogThatLostItsTail(t *testing.T) {
	t.Parallel()
	f := newForgetful(t)
	w := newWorld(t, "nats="+f.server.ClientURL())
	stop := w.serve()
	w.deposit(1)
	stop()
	forget := f.keep()
	stop = w.serve()
	w.deposit(2)
	w.shown()
	stop()
	before := w.history()
	forget()

	if r := w.verified(); r.Worst != app.NeedsPerson || !strings.Contains(findings(r.Findings), string(consistency.StreamChanged)) {
		t.Errorf("verify does not see that the tail is lost:\n%s", findings(r.Findings))
	}
	lost := len(before) - len(w.history())
	if lost < 10 {
		t.Fatalf("only %d events were lost", lost)
	}
	w.says(0, words("restore log --dry-run"), "events would be put back")
	r, err := w.app.RestoreLog(w.ctx(), nil)
	if err != nil || int(r.Events) != lost || r.Rebuild || len(r.Missing) > 0 || r.Epoch != 0 {
		t.Fatalf("%v: %+v, %d were lost", err, r, lost)
	}
	if diff := cmp.Diff(before, w.history()); diff != "" {
		t.Errorf("another history (-before +after):\n%s", diff)
	}
	w.goesOn(3)
	if r, err := w.app.RestoreLog(w.ctx(), nil); err == nil {
		t.Errorf("it restores beside a service: %+v", r)
	}
}

// goesOn serves, takes another deposit in and checks that all agree.
func (w *world) goesOn(n int) {
	w.t.Helper()
	w.serve()
	if e := w.seen(1, domain.EventSettingRestored)[0].Data.(*domain.SettingRestored); e.What != domain.RestoredLog {
		w.t.Errorf("%+v", e)
	}
	w.rest(w.deposit(n))
	w.agree()
	if r := w.settled(); len(r.Findings) > 0 {
		w.t.Errorf("after it:\n%s", findings(r.Findings))
	}
}

// A stream that is lost is made anew from the tables, in a new epoch.
// Shows: C9
func TestRestoreLogThatIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.serve()
	w.deposit(1)
	w.shown()
	stop()
	before := w.history()
	nc, err := nats.Connect(w.cfg.NATS[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err == nil {
		err = js.DeleteStream(w.ctx(), w.cfg.NATSStream)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.wired.Close(); err != nil {
		t.Fatal(err)
	}
	again := w.with()
	r, err := again.app.RestoreLog(w.ctx(), nil)
	if err != nil || int(r.Events) != len(before) || r.Rebuild || r.Epoch != 2 {
		t.Fatalf("%v: %+v", err, r)
	}
	if diff := cmp.Diff(before, again.history()); diff != "" {
		t.Errorf("another history (-before +after):\n%s", diff)
	}
	again.goesOn(2)
	if e := again.seen(1, domain.EventSettingRestored)[0]; e.Epoch != 2 {
		t.Errorf("it is told of in epoch %d", e.Epoch)
	}
}

// What the tables did not have yet comes from the nodes that the outbox still keeps.
// Shows: C8
func TestRestoreLogFromTheOutbox(t *testing.T) {
	t.Parallel()
	f := newForgetful(t)
	w := newWorld(t, "nats="+f.server.ClientURL(), "outbox_grace=10m")
	w.serve()() // makes the stream
	w.says(0, words("queue pause pending --reason x"))
	forget := f.keep()
	stop := w.serve("daemons", "relay")
	id := w.submit(app.Deposit{Payload: webServer(t, samples.Handler()) + samples.SingleFile})
	w.seen(1, domain.EventBatchStarted)
	stop()
	before := w.history()
	forget()
	if n := len(w.history()); n >= len(before) {
		t.Fatalf("%d of %d events are left", n, len(before))
	}
	r, err := w.app.RestoreLog(w.ctx(), nil)
	if err != nil || r.Events == 0 || len(r.Missing) > 0 {
		t.Fatalf("%v: %+v", err, r)
	}
	after := w.history()
	names := func(all []domain.Recorded) map[string]string {
		m := map[string]string{}
		for _, e := range all {
			m[e.ID()] = e.CommandID
		}
		return m
	}
	if diff := cmp.Diff(names(before), names(after)); diff != "" {
		t.Errorf("another history (-before +after):\n%s", diff)
	}
	w.serve()
	w.says(0, words("queue resume pending"))
	if v := w.rest(id); v.JobsCompleted != 1 {
		t.Errorf("%+v", v.BatchSummary)
	}
	w.agree()
}

// When the log holds another event under an id that was lost, nothing is written.
// Shows: C8
func TestRestoreLogThatClashes(t *testing.T) {
	t.Parallel()
	f := newForgetful(t)
	w := newWorld(t, "nats="+f.server.ClientURL())
	stop := w.serve()
	w.deposit(1)
	stop()
	forget := f.keep()
	stop = w.serve()
	w.deposit(2)
	w.shown()
	stop()
	lost := w.history()
	forget()
	log, err := w.wired.Log(w.ctx())
	if err != nil {
		t.Fatal(err)
	}
	other := lost[len(w.history())]
	other.CommandID = "somebody-elses"
	if _, err := log.Append(w.ctx(), []eventstore.Append{{Event: other}}); err != nil {
		t.Fatal(err)
	}
	before := len(w.history())
	_, err = w.app.RestoreLog(w.ctx(), nil)
	if !errors.Is(err, consistency.ErrClash) || !strings.Contains(err.Error(), other.ID()) {
		t.Errorf("%v, and not a clash about %s", err, other.ID())
	}
	if n := len(w.history()); n != before {
		t.Errorf("%d events were written all the same", n-before)
	}
	w.says(1, words("restore log --dry-run"), "the log holds another event under the same id", "nothing was written")
}
