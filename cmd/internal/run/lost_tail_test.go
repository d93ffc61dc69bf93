package run_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/deploy/samples"
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
	w.submit(app.Deposit{Payload: depositor(t, samples.Handler()) + samples.SingleFile})
	said()
	stop()
	if !strings.Contains(log.String(), "accession restore log") {
		t.Error("the remedy is not named")
	}
	if after := w.eventRows(); after != before {
		t.Errorf("the tables changed from\n%s\nto\n%s", before, after)
	}
}
