package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/domain/access"
)

// oneKey knows one key, and audits nothing.
type oneKey struct{ caller access.Caller }

func (k oneKey) Authenticate(_ context.Context, c people.Credential, _ string) (access.Caller, string, error) {
	if c.Token != "good" {
		return access.Caller{}, "", &app.Error{Kind: app.Unauthenticated, What: "sign in", Err: errors.New("the key is not valid"), Hint: "ask an administrator for one"}
	}
	return k.caller, "key", nil
}

func (oneKey) Note(context.Context, people.By, string, string, string, string, string) error {
	return nil
}

// handlerOf returns the routes of a server without any servers behind it: what needs one
// panics.
func handlerOf(t *testing.T, log io.Writer, rights ...access.Right) http.Handler {
	t.Helper()
	s := &Server{People: oneKey{access.Caller{Name: "ana", Rights: rights}}, Version: "test", Log: slog.New(slog.NewTextHandler(log, nil))}
	return s.Handler()
}

// TestRequestsThatNoOperationSees: each has its status, its code, and an id that the log has.
func TestRequestsThatNoOperationSees(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := handlerOf(t, &log)
	for _, c := range []struct {
		method, path, auth, body string
		status                   int
		code, detail             string
	}{
		{"GET", "/", "", "", 404, "not_found", "there is no such path"},
		{"GET", "/v1/nothing", "", "", 404, "not_found", "there is no such path"},
		{"GET", "/v1/../v1/batches/", "Bearer good", "", 404, "not_found", "there is no such path"},
		{"PUT", "/v1/batches", "Bearer good", "", 405, "invalid", "the path takes GET"},
		{"GET", "/v1/batches", "", "", 401, "unauthenticated", "the key is not valid"},
		{"GET", "/v1/batches", "Bearer bad", "", 401, "unauthenticated", "the key is not valid"},
		{"GET", "/v1/batches", "Basic !!!", "", 401, "unauthenticated", "the key is not valid"},
		{"POST", "/object/ingest", "", "", 401, "unauthenticated", "the key is not valid"},
		{"POST", "/poster/submit/", "", "", 401, "unauthenticated", "the key is not valid"},
		{"POST", "/object/ingest", "Bearer good", "{}", 400, "invalid", "the body is no form"},
		{"POST", "/object/ingest?colour=red", "Bearer good", "", 400, "invalid", "the body is no form"},
		{"GET", "/v1/batches?limit=0", "Bearer good", "", 400, "invalid", "limit"},
		{"GET", "/v1/batches?limit=many", "Bearer good", "", 400, "invalid", "limit"},
		{"GET", "/v1/batches?colour=red", "Bearer good", "", 400, "invalid", "colour"},
		{"GET", "/v1/batches?since=yesterday", "Bearer good", "", 400, "invalid", "since"},
		{"GET", "/v1/batches?state=odd", "Bearer good", "", 400, "invalid", `state="odd" is not one of`},
		{"GET", "/v1/batches/nine", "Bearer good", "", 400, "invalid", "nine"},
		{"POST", "/v1/submissions", "Bearer good", "", 400, "invalid", "body"},
		{"POST", "/v1/submissions", "Bearer good", "{", 400, "invalid", ""},
		{"POST", "/v1/submissions", "Bearer good", `{"profile":"maps"}`, 400, "invalid", "url"},
		{"POST", "/v1/submissions", "Bearer good", `{"profile":"maps","url":"x","colour":"red"}`, 400, "invalid", "colour"},
		{"POST", "/v1/submissions", "Bearer good", strings.Repeat(" ", maxBody+1) + "{}", 413, "invalid", ""},
		{"POST", "/v1/jobs/jid0000000001/hold", "Bearer good", `{"reason":` + strings.Repeat("[", 5000), 400, "invalid", ""},
		{"POST", "/v1/queues/ingest/pause", "Bearer good", "", 403, "forbidden", "you have no right to act in all collections"},
	} {
		name := c.method + " " + c.path
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		if c.auth != "" {
			r.Header.Set("Authorization", c.auth)
		}
		if c.body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var p Problem
		err := json.Unmarshal(w.Body.Bytes(), &p)
		if err != nil || w.Code != c.status || p.Status != c.status || p.Code != c.code || !strings.Contains(p.Detail, c.detail) || p.Title == "" ||
			w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s (%v), want %d %s %q", name, w.Code, w.Body, err, c.status, c.code, c.detail)
		}
		if p.Request == "" || p.Request != w.Header().Get("X-Request-Id") || !strings.Contains(log.String(), p.Request) {
			t.Errorf("%s: the request's id is %q, in the answer %q", name, p.Request, w.Header().Get("X-Request-Id"))
		}
		if (c.status == 401) != (len(w.Header()["Www-Authenticate"]) == 2) {
			t.Errorf("%s: %v", name, w.Header())
		}
	}
	if strings.Contains(log.String(), "level=ERROR") {
		t.Error(log.String())
	}
}

// TestPanicIsAnswered: a fault of the program ends one request, with what says nothing of
// its inside.
func TestPanicIsAnswered(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/v1/queues", http.NoBody)
	r.Header.Set("Authorization", "Bearer good")
	handlerOf(t, &log, access.Right{Role: access.Reader, Scope: access.Everywhere}).ServeHTTP(w, r)
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "nil") || !strings.Contains(log.String(), "made the service panic") {
		t.Errorf("%d %s\n%s", w.Code, w.Body, log.String())
	}
}

// TestLimitsAreSaid: an answer to a request beyond a limit says which, and when to come back.
func TestLimitsAreSaid(t *testing.T) {
	t.Parallel()
	limit := access.Limit{Name: "waiting-deposits", Quota: 3, Reset: time.Minute}
	w := httptest.NewRecorder()
	refuse(w, problemOf(&app.Error{Kind: app.Full, What: "deposit", Err: &access.Exceeded{Limit: limit, Err: errors.New("3 wait")}, RetryAfter: time.Minute}, "r1"))
	h := w.Header()
	if w.Code != http.StatusTooManyRequests || h.Get("Retry-After") != "60" || h.Get("RateLimit-Policy") != `"waiting-deposits";q=3` || h.Get("RateLimit") != `"waiting-deposits";r=0;t=60` {
		t.Errorf("%d %v", w.Code, h)
	}
}

// TestInnerErrors: addresses and paths stay in the log.
func TestInnerErrors(t *testing.T) {
	t.Parallel()
	for kind := range Statuses {
		p := problemOf(fmt.Errorf("wrapped: %w", &app.Error{Kind: kind, What: "look", Err: errors.New("dial tcp 10.0.0.7:5432 /var/lib/x"), Hint: "see /var/lib/x"}), "r1")
		_, hidden := inner[kind]
		if shown := strings.Contains(p.Detail+p.Hint, "10.0.0.7") || strings.Contains(p.Detail+p.Hint, "/var/"); shown == hidden || p.Status < 400 || p.Title == "" {
			t.Errorf("%s: %+v", kind, p)
		}
	}
}
