package ops

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestReadiness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		var asked atomic.Int64
		h := NewHealth(Check{"zookeeper", func(context.Context) error { return nil }}, Check{"nats", func(context.Context) error {
			asked.Add(1)
			if away.Load() {
				return errAway
			}
			return nil
		}}, Check{"postgres", func(ctx context.Context) error {
			if away.Load() { // it hangs
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}})
		s := server(NewMetrics(), h, false).Handler()
		expect := func(code int, says string) {
			t.Helper()
			if got, text := ask(t, s, "GET", "/readyz", ""); got != code || strings.TrimSpace(text) != says {
				t.Errorf("/readyz answers %d %q, want %d %q", got, text, code, says)
			}
			if got, _ := ask(t, s, "GET", "/livez", ""); got != http.StatusOK {
				t.Errorf("/livez answers %d", got)
			}
		}
		expect(503, "not ready: starting")
		h.Start()
		expect(200, "ok")
		away.Store(true)
		expect(200, "ok") // asked a moment ago
		if asked.Load() != 1 {
			t.Errorf("asked %d times within a moment", asked.Load())
		}
		<-time.After(2 * time.Second) // by the clock of the bubble
		expect(503, "not ready: nats, postgres")
		code, text := ask(t, s, "GET", "/readyz?verbose", "")
		var r Readiness
		if err := json.Unmarshal([]byte(text), &r); err != nil || code != 503 || r.Ready || len(r.Checks) != 3 || !r.Checks[2].OK ||
			r.Checks[0].Error != "it is away" || r.Checks[1].Error != "no answer within 3s" || r.Checks[1].Seconds != 3 {
			t.Errorf("%d, %v: %s", code, err, text)
		}
		away.Store(false)
		<-time.After(2 * time.Second) // by the clock of the bubble
		expect(200, "ok")
		h.Stop()
		expect(503, "not ready: stopping")
	})
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	s := server(NewMetrics(), NewHealth(), false)
	open := server(NewMetrics(), NewHealth(), true)
	for _, c := range []struct {
		s                    *Server
		method, target, body string
		header               string
		code                 int
		says                 string
	}{
		{s, "GET", "/version", "", "", 200, `"version": "v1"`},
		{s, "GET", "/version", "", "", 200, `"go": "go1.`},
		{s, "GET", "/loglevel", "", "", 200, "info"},
		{s, "PUT", "/loglevel", "debug\n", "", 200, "debug"},
		{s, "GET", "/loglevel", "", "", 200, "debug"},
		{s, "PUT", "/loglevel", "loud", "", 400, "send one of debug, info, warn, error"},
		{s, "PUT", "/loglevel", strings.Repeat("x", 100), "", 400, "send one of"},
		{s, "PUT", "/loglevel", "error", "Sec-Fetch-Site: cross-site", 403, "cross-origin"},
		{s, "GET", "/loglevel", "", "", 200, "debug"},
		{s, "POST", "/loglevel", "error", "", 405, ""},
		{s, "GET", "/debug/pprof/", "", "", 404, ""},
		{open, "GET", "/debug/pprof/goroutine?debug=1", "", "", 200, "goroutine profile"},
		{s, "GET", "/", "", "", 404, ""},
	} {
		var header []string
		if c.header != "" {
			header = append(header, c.header)
		}
		if code, text := ask(t, c.s.Handler(), c.method, c.target, c.body, header...); code != c.code || !strings.Contains(text, c.says) {
			t.Errorf("%s %s %q: %d %q, want %d with %q", c.method, c.target, c.body, code, text, c.code, c.says)
		}
	}
	if s.Level.Level() != slog.LevelDebug {
		t.Errorf("the level is %v", s.Level.Level())
	}
}

func TestListening(t *testing.T) {
	t.Parallel()
	s := server(NewMetrics(), NewHealth(), false)
	at, closing, err := s.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Listen(t.Context(), at); err == nil {
		t.Error("a second listener took the same address")
	}
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get("http://" + at + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(text) != "ok\n" {
		t.Errorf("%q", text)
	}
	closing()
	if late, err := (&http.Client{Transport: tr}).Get("http://" + at + "/livez"); err == nil {
		late.Body.Close()
		t.Error("it answers after it was closed")
	}
}

// TestSlowClient: a client that sends half a head keeps no connection of the operators' listener.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	at, closing, err := server(NewMetrics(), NewHealth(), false).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer closing()
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: a"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection is still open")
	}
}
