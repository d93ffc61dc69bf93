package e2e

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/run"
)

// TestStopTellsOfEventsThatWait: a process without the relay leaves events behind,
// and says so; one with it carries them on and is silent.
func TestStopTellsOfEventsThatWait(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	depositor := httptest.NewServer(http.NotFoundHandler())
	defer depositor.Close()
	in.submit(app.Deposit{Payload: depositor.URL + "/tide.csv"})
	for _, c := range []struct {
		roles []run.Role
		want  bool
	}{{[]run.Role{run.RoleSweeper}, true}, {[]run.Role{run.RoleRelay}, false}} {
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(in.ctx())
		ready := cancel
		if !c.want {
			ready = func() { go in.whenInLog(ctx, cancel) }
		}
		s := &run.Service{Config: in.cfg, Roles: c.roles, Version: "test", Ready: ready, Log: slog.New(slog.NewTextHandler(&log, nil))}
		if err := s.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), "events wait in the outbox for the next relay"); got != c.want {
			t.Errorf("with %v: it says so: %v, want %v\n%s", c.roles, got, c.want, log.String())
		}
	}
}

// whenInLog calls then as soon as the log has an event.
func (in *installation) whenInLog(ctx context.Context, then func()) {
	defer then()
	for range in.app.Tail(ctx, app.TailOptions{Selection: app.Selection{From: 1}, Follow: true}) {
		return
	}
}
