package e2e

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/projections"
)

// awaited keeps a service's log and closes found when it says the text.
type awaited struct {
	mu    sync.Mutex
	kept  bytes.Buffer
	text  string
	found chan struct{}
	once  sync.Once
}

func (a *awaited) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if bytes.Contains(p, []byte(a.text)) {
		a.once.Do(func() { close(a.found) })
	}
	return a.kept.Write(p)
}

func (a *awaited) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kept.String()
}

// serveUntil serves; said waits until the service's log says the text.
func (w *world) serveUntil(text string, roles ...run.Role) (log *awaited, said, stop func()) {
	w.t.Helper()
	log = &awaited{text: text, found: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	s := &run.Service{Config: w.cfg, Roles: roles, Version: "test", Ready: func() { close(ready) }, Log: slog.New(slog.NewTextHandler(log, nil))}
	go func() { ended <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("the service ended with %v", err)
		}
		if w.t.Failed() {
			w.t.Log(log)
		}
	})
	w.t.Cleanup(stop)
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		w.t.Fatalf("the service did not start: %v", err)
	}
	return log, func() {
		w.t.Helper()
		select {
		case <-log.found:
		case <-time.After(time.Minute):
			w.t.Errorf("the service does not say %q", text)
		}
	}, stop
}

// eventRows names every event that the tables hold.
func (w *world) eventRows() string {
	w.t.Helper()
	pool, err := w.wired.Pool(w.ctx())
	if err != nil {
		w.t.Fatal(err)
	}
	var all string
	if err := pool.QueryRow(w.ctx(), "select string_agg(seq||' '||id||' '||command_id, E'\n' order by seq) from accession.event").Scan(&all); err != nil {
		w.t.Fatal(err)
	}
	return all
}

// A stream that loses its tail under a running service, which then writes on: the
// projector says so, and the tables take nothing of it.
// Shows: C8
func TestTailIsLostUnderAService(t *testing.T) {
	t.Parallel()
	f := newForgetful(t)
	w := newWorld(t, "nats="+f.server.ClientURL())
	stop := w.serve()
	w.deposit(1)
	stop()
	forget := f.keep()
	log, said, stop := w.serveUntil("does not continue what was applied up to", run.AllRoles...)
	w.deposit(2)
	w.shown()
	before := w.eventRows()
	forget()
	w.submit(app.Deposit{Payload: webServer(t, samples.Handler()) + samples.SingleFile})
	said()
	stop()
	if !strings.Contains(log.String(), "accession restore log") {
		t.Error("the remedy is not named")
	}
	if after := w.eventRows(); after != before {
		t.Errorf("the tables changed from\n%s\nto\n%s", before, after)
	}
}

// A service does not start on a log that lost events, nor does anything else write to
// it: deposits are taken and wait, and when the events were put back all goes on.
// Shows: C8 C9
func TestServiceRefusesALogThatLostEvents(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]bool{"deleted": true, "shortened": false} {
		t.Run(name, func(t *testing.T) {
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
			if forget(); deleted {
				w.deleteStream()
			}
			if err := w.wired.Close(); err != nil {
				t.Fatal(err)
			}
			w = w.with() // a process that starts now
			log, err := w.wired.Log(w.ctx())
			if err != nil {
				t.Fatal(err)
			}
			before, err := log.Info(w.ctx())
			if err != nil {
				t.Fatal(err)
			}
			short, cancel := context.WithTimeout(w.ctx(), 15*time.Second) // a service that starts ends then
			defer cancel()
			err = (&run.Service{Config: w.cfg, Roles: run.AllRoles, Version: "test", Log: slog.New(slog.DiscardHandler)}).Run(short)
			var refused *projections.StreamError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), "accession restore log") {
				t.Fatalf("the service ended with %v", err)
			}
			w.says(1, words("sweep"), "does not continue what was applied", "accession restore log")
			w.says(0, words("submit --profile test "+webServer(t, samples.Handler())+samples.SingleFile))
			if after, err := log.Info(w.ctx()); err != nil || after.Last != before.Last {
				t.Errorf("the log ends at %d, %v; it ended at %d", after.Last, err, before.Last)
			}
			if r, err := w.app.RestoreLog(w.ctx(), nil); err != nil || r.Events == 0 || r.Rebuild || len(r.Missing) > 0 {
				t.Fatalf("%v: %+v", err, r)
			}
			w.goesOn(4)
		})
	}
}

func (w *world) deleteStream() {
	w.t.Helper()
	nc, err := nats.Connect(w.cfg.NATS[0])
	if err != nil {
		w.t.Fatal(err)
	}
	closed := make(chan struct{})
	nc.SetClosedHandler(func(*nats.Conn) { close(closed) })
	js, err := jetstream.New(nc)
	if err == nil {
		err = js.DeleteStream(w.ctx(), w.cfg.NATSStream)
	}
	if err != nil {
		w.t.Error(err)
	}
	nc.Close()
	<-closed
}
