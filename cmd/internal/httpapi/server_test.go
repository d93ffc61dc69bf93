package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/text"
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

// hang opens what does not answer.
func hang[T any](ctx context.Context) (none T, err error) {
	<-ctx.Done()
	return none, ctx.Err()
}

// slow knows a caller once it was asked.
type slow struct {
	oneKey
	asked func(context.Context) error
}

func (s slow) Authenticate(ctx context.Context, c people.Credential, from string) (access.Caller, string, error) {
	if err := s.asked(ctx); err != nil {
		return access.Caller{}, "", err
	}
	return s.oneKey.Authenticate(ctx, c, from)
}

// failAs opens what fails as the context of the request has it.
func failAs[T any](ctx context.Context) (none T, err error) {
	return none, ctx.Value(failing{}).(func(context.Context) error)(ctx)
}

type failing struct{}

// TestClientThatHasGone: a request that fails because its client did not wait is no error of the
// service in the log, neither of the API nor of a page; one that fails while its client waits is.
func TestClientThatHasGone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path   string
		caller bool // it fails when it is asked who calls
	}{{"/v1/deposit-queues/metadata", false}, {"/v1/batches", true}, {"/console/queues", true}} {
		for _, gone := range []bool{true, false} {
			var log bytes.Buffer
			ctx, leave := context.WithCancel(t.Context())
			fails := func(ctx context.Context) error {
				if !gone {
					return errors.New("the disk is full")
				}
				leave()
				<-ctx.Done()
				return fmt.Errorf("read: %w", ctx.Err())
			}
			callers := slow{oneKey{access.Caller{Name: "ana", Rights: []access.Right{{Role: access.Reader, Scope: access.Everywhere}}}}, func(context.Context) error { return nil }}
			if c.caller {
				callers.asked = fails
			}
			var servers app.Resources
			servers.DepositQueues = failAs
			s := &Server{Open: servers, People: callers, Version: "test", Log: slog.New(slog.NewTextHandler(&log, nil))}
			r := httptest.NewRequestWithContext(context.WithValue(ctx, failing{}, fails), http.MethodGet, c.path, http.NoBody)
			r.Header.Set("Authorization", "Bearer good")
			s.Handler().ServeHTTP(httptest.NewRecorder(), r)
			leave()
			if text := log.String(); strings.Contains(text, "status=499") != gone || strings.Contains(text, "status=50") == gone || strings.Contains(text, "level=ERROR") == gone {
				t.Errorf("%s, the client has gone: %t\n%s", c.path, gone, text)
			}
		}
	}
}

// TestWorkHasADeadline: an answer that servers keep waiting for is given up.
func TestWorkHasADeadline(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var servers app.Resources
	servers.DepositQueues = hang
	s := &Server{Open: servers, People: oneKey{access.Caller{Name: "ana", Rights: []access.Right{{Role: access.Reader, Scope: access.Scope{All: true}}}}}, Version: "test", Log: slog.New(slog.NewTextHandler(&log, nil)), work: 50 * time.Millisecond}
	r := httptest.NewRequest(http.MethodGet, "/v1/deposit-queues/metadata", http.NoBody)
	r.Header.Set("Authorization", "Bearer good")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"code":"unavailable"`) || w.Header().Get("Retry-After") == "" || !strings.Contains(log.String(), "deadline exceeded") {
		t.Errorf("%d %v %s\n%s", w.Code, w.Header(), w.Body, log.String())
	}
}

// TestUnprotected: what other machines reach without TLS is warned of.
func TestUnprotected(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	for address, of := range map[string]struct {
		s    *Server
		want bool
	}{
		"0.0.0.0:9480": {&Server{}, true}, "[::]:9480": {&Server{}, true}, "192.0.2.7:9480": {&Server{}, true},
		"127.0.0.1:9480": {&Server{}, false}, "[::1]:9480": {&Server{}, false},
		"0.0.0.0:443": {&Server{Certificate: "a.pem", Key: "a.key"}, false}, "0.0.0.0:80": {&Server{Proxies: proxies}, false},
	} {
		at := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))
		if got := of.s.unprotected(at); got != of.want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

// TestHeaderFields: so many fields a header may have, and not one more, also of one name.
func TestHeaderFields(t *testing.T) {
	t.Parallel()
	h := handlerOf(t, io.Discard)
	for n, want := range map[int]int{maxFields: http.StatusNotFound, maxFields + 1: http.StatusRequestHeaderFieldsTooLarge} {
		r, w := httptest.NewRequest(http.MethodGet, "/v1/nothing", http.NoBody), httptest.NewRecorder()
		r.Header["X"] = make([]string, n)
		h.ServeHTTP(w, r)
		var p Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != want || p.Status != want || p.Request == "" {
			t.Errorf("%d fields: %d %s (%v), want %d", n, w.Code, w.Body, err, want)
		}
	}
}

// TestTextOverHTTP: what is no text is refused with the name of its field, wherever it stands,
// before anything is asked with it, and is not in the answer.
func TestTextOverHTTP(t *testing.T) {
	t.Parallel()
	const (
		bidi, invisible = `holds a bidirectional control, U+202E; remove it`, `holds an invisible character, U+200B; remove it`
		line, escape    = `holds a line break, U+000A; remove it`, `holds a control character, U+001B; remove it`
		notUTF8         = `is not UTF-8; write it in UTF-8`
	)
	var log bytes.Buffer
	h := handlerOf(t, &log, access.Right{Role: access.Admin, Scope: access.Everywhere})
	for _, c := range []struct{ method, path, key, body, detail string }{
		{"GET", "/v1/batches?submitter=%ff", "", "", "submitter " + notUTF8},
		{"GET", "/v1/batches?collection=a%E2%80%AEb", "", "", "collection " + bidi},
		{"GET", "/v1/batches?profile=a%1b[2J", "", "", "profile " + escape},
		{"GET", "/v1/jobs?host=a%0ab", "", "", "host " + line},
		{"GET", "/v1/files?code=a%E2%80%8Bb", "", "", "code " + invisible},
		{"GET", "/v1/batches?cursor=%ff", "", "", "cursor " + notUTF8},
		{"GET", "/v1/audit?on=%c3%28", "", "", "on " + notUTF8},
		{"GET", "/v1/objects?title=%ff", "", "", "title " + notUTF8},
		{"GET", "/v1/events?kind=batch,%ff", "", "", "kind[1] " + notUTF8},
		{"GET", "/v1/batches/bid%ff", "", "", "id " + notUTF8},
		{"GET", "/v1/objects/ark%0a", "", "", "id " + line},
		{"POST", "/v1/collections/ma%E2%80%AEps/hold", "", "", "name " + bidi},
		{"POST", "/v1/jobs/jid0000000001/hold", "", `{"reason":"a\nb"}`, "reason " + line},
		{"POST", "/v1/jobs/jid0000000001/hold", "", `{"reason":"a\u001b[2J"}`, "reason " + escape},
		{"POST", "/v1/batches/bid0000000001/release?dry_run=true", "", "{\"reason\":\"a\u202eb\"}", "reason " + bidi},
		{"POST", "/v1/queues/ingest/pause", "", `{"reason":"a\u200bb"}`, "reason " + invisible},
		{"POST", "/v1/queues/ingest/pause", "", "{\"reason\":\"a\xffb\"}", "the body " + notUTF8},
		{"POST", "/v1/queues/ingest/pause", "a\xffb", `{}`, "Idempotency-Key " + notUTF8},
		{"POST", "/v1/bulk-actions", "", `{"kind":"job","verb":"hold","filter":{"submitter":"a\u202eb"}}`, "filter.submitter " + bidi},
		{"POST", "/v1/bulk-actions", "", `{"kind":"job","verb":"hold","filter":{"profile":"maps"},"reason":"a\nb"}`, "reason " + line},
		{"POST", "/v1/submissions", "", `{"profile":"maps","url":"https://example.org/a","local_ids":["a","b\u200bc"]}`, "local_ids[1] " + invisible},
		{"POST", "/v1/uploads?profile=maps&name=a%0ab", "", "x", "name " + line},
		{"POST", "/v1/users/ana/set", "", `{"display_name":"a\nb"}`, "display_name " + line},
		{"POST", "/v1/keys", "", `{"user":"ana","collections":["maps","a\u202eb"]}`, "collections[1] " + bidi},
		{"GET", "/v1/batches?submitter=%zz", "", "", `invalid URL escape "%zz"`},
		{"GET", "/v1/batches?c%E2%80%AEd=1", "", "", `c\u202ed`},
	} {
		name := c.method + " " + c.path + " " + c.body
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Header.Set("Authorization", "Bearer good")
		if c.key != "" {
			r.Header.Set("Idempotency-Key", c.key)
		}
		if c.body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var p Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusBadRequest || p.Code != "invalid" || !strings.Contains(p.Detail+w.Body.String(), c.detail) {
			t.Errorf("%s: %d %s (%v), want %q", name, w.Code, w.Body, err, c.detail)
		}
		if fault := text.Check(strings.TrimSuffix(w.Body.String(), "\n")); fault != nil {
			t.Errorf("%s: the answer %v: %s", name, fault, w.Body)
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
	refuse(w, problem.ForCaller(&app.Error{Kind: app.Full, What: "deposit", Err: &access.Exceeded{Limit: limit, Err: errors.New("3 wait")}, RetryAfter: time.Minute}, "r1"))
	h := w.Header()
	if w.Code != http.StatusTooManyRequests || h.Get("Retry-After") != "60" || h.Get("RateLimit-Policy") != `"waiting-deposits";q=3` || h.Get("RateLimit") != `"waiting-deposits";r=0;t=60` {
		t.Errorf("%d %v", w.Code, h)
	}
}

// TestInnerErrors: addresses and paths stay in the log.
func TestInnerErrors(t *testing.T) {
	t.Parallel()
	for kind := range problem.Statuses {
		p := problem.ForCaller(fmt.Errorf("wrapped: %w", &app.Error{Kind: kind, What: "look", Err: errors.New("dial tcp 10.0.0.7:5432 /var/lib/x"), Hint: "see /var/lib/x"}), "r1")
		hidden := problem.Inner(kind) != ""
		if shown := strings.Contains(p.Detail+p.Hint, "10.0.0.7") || strings.Contains(p.Detail+p.Hint, "/var/"); shown == hidden || p.Status < 400 || p.Title == "" {
			t.Errorf("%s: %+v", kind, p)
		}
	}
}
