package e2e

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/projections"
)

// eventRows names every event that the tables hold.
func (in *installation) eventRows() string {
	in.t.Helper()
	pool, err := in.wired.Pool(in.ctx())
	if err != nil {
		in.t.Fatal(err)
	}
	var all string
	if err := pool.QueryRow(in.ctx(), "select string_agg(seq||' '||id||' '||command_id, E'\n' order by seq) from accession.event").Scan(&all); err != nil {
		in.t.Fatal(err)
	}
	return all
}

// A stream that loses its tail under a running service, which then writes on: the
// projector says so, and the tables take nothing of it.
// Shows: C8
func TestTailIsLostUnderAService(t *testing.T) {
	t.Parallel()
	server := newNATS(t)
	in := newInstallation(t, "nats="+server.url())
	stop := in.serveInProcess().stop
	in.deposit(1)
	stop()
	forget := server.keep()
	s := in.serveInProcess()
	in.deposit(2)
	in.shown()
	before := in.eventRows()
	forget()
	in.submit(app.Deposit{Payload: webServer(t, samples.Handler()) + samples.SingleFile})
	s.tells("does not continue what was applied up to")
	s.stop()
	if !strings.Contains(s.log.String(), "accession restore log") {
		t.Error("the remedy is not named")
	}
	if after := in.eventRows(); after != before {
		t.Errorf("the tables changed from\n%s\nto\n%s", before, after)
	}
}

// A service does not start on a log that lost events, nor does anything else write to
// it; when the events were put back all goes on.
// Shows: C8 C9
func TestServiceRefusesALogThatLostEvents(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]bool{"deleted": true, "shortened": false} {
		t.Run(name, func(t *testing.T) {
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
			if forget(); deleted {
				in.deleteStream()
			}
			if err := in.wired.Close(); err != nil {
				t.Fatal(err)
			}
			in = in.with() // a process that starts now
			log, err := in.wired.Log(in.ctx())
			if err != nil {
				t.Fatal(err)
			}
			before, err := log.Info(in.ctx())
			if err != nil {
				t.Fatal(err)
			}
			short, cancel := context.WithTimeout(in.ctx(), time.Minute) // a service that starts ends then
			defer cancel()
			err = (&run.Service{Config: in.cfg, Roles: run.AllRoles, Version: "test", Log: slog.New(slog.DiscardHandler)}).Run(short)
			var refused *projections.StreamError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), "accession restore log") {
				t.Fatalf("the service ended with %v", err)
			}
			in.says(8, words("sweep"), "does not continue what was applied", "accession restore log")
			in.says(8, words("submit --profile test "+webServer(t, samples.Handler())+samples.SingleFile), "accession restore log")
			if after, err := log.Info(in.ctx()); err != nil || after.Last != before.Last {
				t.Errorf("the log ends at %d, %v; it ended at %d", after.Last, err, before.Last)
			}
			if r, err := in.app.RestoreLog(in.ctx(), nil); err != nil || r.Events == 0 || r.Rebuild || len(r.Missing) > 0 {
				t.Fatalf("%v: %+v", err, r)
			}
			in.goesOn(3)
		})
	}
}

func (in *installation) deleteStream() {
	in.t.Helper()
	nc, err := nats.Connect(in.cfg.NATS[0])
	if err != nil {
		in.t.Fatal(err)
	}
	closed := make(chan struct{})
	nc.SetClosedHandler(func(*nats.Conn) { close(closed) })
	js, err := jetstream.New(nc)
	if err == nil {
		err = js.DeleteStream(in.ctx(), in.cfg.NATSStream)
	}
	if err != nil {
		in.t.Error(err)
	}
	nc.Close()
	<-closed
}
