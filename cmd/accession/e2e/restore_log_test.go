package e2e

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// history returns all events of the log, as the tables are compared with it.
func (in *installation) history() (all []domain.Recorded) {
	in.t.Helper()
	log, err := in.wired.Log(in.ctx())
	if err != nil {
		in.t.Fatal(err)
	}
	for r, err := range log.Read(in.ctx(), eventstore.ReadOptions{}) {
		if err != nil {
			in.t.Fatal(err)
		}
		r.Stored = r.Stored.Truncate(time.Microsecond)
		all = append(all, r)
	}
	return all
}

// deposit takes a file in and waits until everything about it has ended.
func (in *installation) deposit(n int) domain.BatchID {
	in.t.Helper()
	id := in.submit(app.Deposit{Payload: webServer(in.t, samples.Handler()) + samples.SingleFile})
	in.seen(n, domain.EventJobCleaned)
	in.seen(n, domain.EventBatchReported)
	return id
}

// A stream that lost its tail gets it back from the tables, event by event as it was.
// Shows: C8 P3
func TestRestoreLogThatLostItsTail(t *testing.T) {
	t.Parallel()
	server := newNATS(t)
	in := newInstallation(t, "nats="+server.url())
	stop := in.serveInProcess().stop
	in.deposit(1)
	stop()
	forget := server.keep()
	stop = in.serveInProcess().stop
	in.deposit(2)
	in.shown()
	stop()
	before := in.history()
	forget()

	if r := in.verified(); r.Worst != app.NeedsPerson || !strings.Contains(findings(r.Findings), string(consistency.StreamChanged)) {
		t.Errorf("verify does not see that the tail is lost:\n%s", findings(r.Findings))
	}
	lost := len(before) - len(in.history())
	if lost < 10 {
		t.Fatalf("only %d events were lost", lost)
	}
	in.says(0, words("restore log --dry-run"), "events would be restored")
	r, err := in.app.RestoreLog(in.ctx(), nil)
	if err != nil || int(r.Events) != lost || r.Rebuild || len(r.Missing) > 0 || r.Epoch != 0 {
		t.Fatalf("%v: %+v, %d were lost", err, r, lost)
	}
	if diff := cmp.Diff(before, in.history()); diff != "" {
		t.Errorf("another history (-before +after):\n%s", diff)
	}
	in.goesOn(3)
	if r, err := in.app.RestoreLog(in.ctx(), nil); err == nil {
		t.Errorf("it restores beside a service: %+v", r)
	}
}

// goesOn serves, takes another deposit in and checks that all agree.
func (in *installation) goesOn(n int) {
	in.t.Helper()
	in.serveInProcess()
	if e := in.seen(1, domain.EventSettingRestored)[0].Data.(*domain.SettingRestored); e.What != domain.RestoredLog {
		in.t.Errorf("%+v", e)
	}
	in.rest(in.deposit(n))
	in.agree()
	if r := in.settled(); len(r.Findings) > 0 {
		in.t.Errorf("after it:\n%s", findings(r.Findings))
	}
}

// A stream that is lost is made anew from the tables, in a new epoch.
// Shows: C9
func TestRestoreLogThatIsLost(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	stop := in.serveInProcess().stop
	in.deposit(1)
	in.shown()
	stop()
	before := in.history()
	nc, err := nats.Connect(in.cfg.NATS[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err == nil {
		err = js.DeleteStream(in.ctx(), in.cfg.NATSStream)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := in.wired.Close(); err != nil {
		t.Fatal(err)
	}
	again := in.with()
	r, err := again.app.RestoreLog(in.ctx(), nil)
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
	server := newNATS(t)
	in := newInstallation(t, "nats="+server.url(), "outbox_grace=24h")
	in.serveInProcess().stop() // makes the stream
	in.says(0, words("queue pause pending --reason x"))
	forget := server.keep()
	stop := in.serveInProcess("daemons", "relay").stop
	id := in.submit(app.Deposit{Payload: webServer(t, samples.Handler()) + samples.SingleFile})
	in.seen(1, domain.EventBatchStarted)
	stop()
	before := in.history()
	forget()
	if n := len(in.history()); n >= len(before) {
		t.Fatalf("%d of %d events are left", n, len(before))
	}
	r, err := in.app.RestoreLog(in.ctx(), nil)
	if err != nil || r.Events == 0 || len(r.Missing) > 0 {
		t.Fatalf("%v: %+v", err, r)
	}
	after := in.history()
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
	in.serveInProcess()
	in.says(0, words("queue resume pending"))
	if v := in.rest(id); v.JobsCompleted != 1 {
		t.Errorf("%+v", v.BatchSummary)
	}
	in.agree()
}

// When the log holds another event under an id that was lost, nothing is written.
// Shows: C8
func TestRestoreLogThatClashes(t *testing.T) {
	t.Parallel()
	server := newNATS(t)
	in := newInstallation(t, "nats="+server.url())
	stop := in.serveInProcess().stop
	in.deposit(1)
	stop()
	forget := server.keep()
	stop = in.serveInProcess().stop
	in.deposit(2)
	in.shown()
	stop()
	lost := in.history()
	forget()
	log, err := in.wired.Log(in.ctx())
	if err != nil {
		t.Fatal(err)
	}
	other := lost[len(in.history())]
	other.CommandID = "somebody-elses"
	if _, err := log.Append(in.ctx(), []eventstore.Append{{Event: other}}); err != nil {
		t.Fatal(err)
	}
	before := len(in.history())
	_, err = in.app.RestoreLog(in.ctx(), nil)
	if !errors.Is(err, consistency.ErrClash) || !strings.Contains(err.Error(), other.ID()) {
		t.Errorf("%v, and not a clash about %s", err, other.ID())
	}
	if n := len(in.history()); n != before {
		t.Errorf("%d events were written all the same", n-before)
	}
	in.says(1, words("restore log --dry-run"), "the log holds another event under the same id", "nothing was written")
}
