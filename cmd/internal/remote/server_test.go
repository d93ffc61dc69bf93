package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// received is a request as a service has seen it.
type received struct {
	line, key, body, auth string
	length                int64
}

// service answers each request with the next of its answers, and keeps the requests.
type service struct {
	mu   sync.Mutex
	seen []received
}

// requests returns what the service was asked since the last call.
func (s *service) requests() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// serve returns a client of a service that answers so. Each answer gets the number of the
// request, from 1.
func serve(t *testing.T, answer func(n int, w http.ResponseWriter)) (*service, *Server) {
	t.Helper()
	s := &service{}
	l := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.seen = append(s.seen, received{r.Method + " " + r.URL.RequestURI(), r.Header.Get(keyHeader), string(body), r.Header.Get("Authorization"), r.ContentLength})
		n := len(s.seen)
		s.mu.Unlock()
		answer(n, w)
	}))
	t.Cleanup(l.Close)
	client, err := Open(l.URL, Credential{Token: secret})
	if err != nil {
		t.Fatal(err)
	}
	return s, client
}

// breakOff ends a connection without an answer, or in the middle of it.
func breakOff(w http.ResponseWriter, begun string) {
	if begun != "" {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, begun)
	}
	panic(http.ErrAbortHandler)
}

func say(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func hold() *operation.JobChange {
	in := &operation.JobChange{JobID: operation.JobID{ID: "jid0000000001"}}
	in.Body = &operation.Reason{Reason: "a look at it"}
	return in
}

// TestBrokenConnections: a request whose answer does not arrive is sent again, one that
// changes something under the same key, and a file from its begin.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	letter := filepath.Join(t.TempDir(), "letter.txt")
	if err := os.WriteFile(letter, []byte("dear reader"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context, s *Server) error {
		c, err := Ask[app.Changed](ctx, s, "job.hold", hold())
		if err == nil && (c.Subject != "job/jid0000000001" || c.Row != "") {
			t.Errorf("%+v", c) // of the answer that broke off nothing is left
		}
		return err
	}
	send := func(ctx context.Context, s *Server) error {
		f, err := os.Open(letter)
		if err != nil {
			return err
		}
		defer f.Close()
		got, err := Send[drops.Shown](ctx, s, "upload.create", &operation.Upload{About: operation.About{Profile: "maps"}, Name: "letter.txt"}, f)
		if err == nil && got.ID != "u1" {
			t.Errorf("%+v", got)
		}
		return err
	}
	for name, c := range map[string]struct {
		do          func(ctx context.Context, s *Server) error
		begun, good string
		line, body  string
	}{
		"command, no answer":   {ask, "", `{"subject":"job/jid0000000001"}`, "POST /v1/jobs/jid0000000001/hold", `{"reason":"a look at it"}`},
		"command, half answer": {ask, `{"row":"J1","subject":"jo`, `{"subject":"job/jid0000000001"}`, "POST /v1/jobs/jid0000000001/hold", `{"reason":"a look at it"}`},
		"file, no answer":      {send, "", `{"id":"u1"}`, "POST /v1/uploads?name=letter.txt&profile=maps", "dear reader"},
		"file, half an answer": {send, `{"id":"u`, `{"id":"u1"}`, "POST /v1/uploads?name=letter.txt&profile=maps", "dear reader"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, client := serve(t, func(n int, w http.ResponseWriter) {
				if n == 1 {
					breakOff(w, c.begun)
				}
				say(w, http.StatusOK, c.good)
			})
			if err := c.do(t.Context(), client); err != nil {
				t.Fatal(err)
			}
			seen := s.requests()
			if len(seen) < 2 {
				t.Fatalf("%+v", seen)
			}
			for _, one := range seen {
				if one.line != c.line || one.body != c.body || one.key == "" || one.key != seen[0].key || one.auth != "Bearer "+secret || one.length != int64(len(c.body)) {
					t.Errorf("%+v", one)
				}
			}
			if err := c.do(t.Context(), client); err != nil { // the next one breaks off again, on a connection that was good
				t.Fatal(err)
			}
			if again := s.requests(); len(again) < 2 || again[0].key == seen[0].key {
				t.Errorf("another request has the key of the first: %+v", again)
			}
		})
	}
}

// TestServiceAway: a service that never answers is named without what was asked for, and no
// request is repeated that may have its effect twice.
func TestServiceAway(t *testing.T) {
	t.Parallel()
	s, client := serve(t, func(_ int, w http.ResponseWriter) { breakOff(w, "") })
	in := &operation.UserPassword{}
	in.Name, in.Body.Password = "ana", "canary"
	_, err := Ask[struct{}](t.Context(), client, "user.password", in)
	known, ok := errors.AsType[*app.Error](err)
	if !ok || known.Kind != app.Unavailable || known.Hint == "" || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "/v1/") {
		t.Errorf("%v", err)
	}
	if seen := s.requests(); len(seen) != 1 {
		t.Errorf("%+v", seen)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := func() error { _, err := Ask[app.Changed](ctx, client, "job.hold", hold()); return err }(); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestAnswersThatAreProblems: the error has the code, hint and exit code of the service, and
// what is no answer of this service is named so. The key goes to no other server.
func TestAnswersThatAreProblems(t *testing.T) {
	t.Parallel()
	other, elsewhere := serve(t, func(_ int, w http.ResponseWriter) { say(w, http.StatusOK, "{}") })
	t.Cleanup(func() {
		if seen := other.requests(); len(seen) != 0 {
			t.Errorf("another server has seen %+v", seen)
		}
	})
	for name, c := range map[string]struct {
		status     int
		body       string
		retry      string
		kind       app.Kind
		exit       int
		says, hint string
	}{
		"refused":         {409, `{"detail":"hold jid0000000001: it is held","code":"refused","hint":"release it","exit":3}`, "", app.Refused, 3, "hold jid0000000001: it is held", "release it"},
		"a newer code":    {418, `{"detail":"a teapot","code":"teapot","exit":42}`, "", "teapot", 42, "the server: a teapot", ""},
		"unknown caller":  {401, `{"detail":"sign in: the key is not valid","code":"unauthenticated","exit":10}`, "", app.Unauthenticated, 10, "the key is not valid", "accession login"},
		"too many":        {429, `{"detail":"submit: full","code":"full","exit":7}`, "30", app.Full, 7, "submit: full", "try again in 30s"},
		"another service": {200, `<html>`, "", app.Unavailable, 0, "its answer cannot be read", "is the URL right"},
		"a proxy":         {502, `<html>bad gateway</html>`, "", app.Unavailable, 0, "502 Bad Gateway", "proxy"},
		"a redirect":      {307, elsewhere.url.String(), "", app.Unavailable, 0, "307 Temporary Redirect", "does the URL name the service"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, client := serve(t, func(_ int, w http.ResponseWriter) {
				w.Header().Set("Retry-After", c.retry)
				w.Header().Set("Location", c.body)
				say(w, c.status, c.body)
			})
			_, err := Ask[app.Changed](t.Context(), client, "job.hold", hold())
			known, ok := errors.AsType[*app.Error](err)
			if !ok || known.Kind != c.kind || !strings.Contains(err.Error(), c.says) || !strings.Contains(known.Hint, c.hint) || strings.Contains(err.Error(), secret) {
				t.Errorf("%v, %+v", err, known)
			}
			if named, ok := errors.AsType[*Error](err); ok && named.Problem().Exit != c.exit || !ok && c.exit != 0 {
				t.Errorf("%v has no exit code %d", err, c.exit)
			}
		})
	}
}

// TestParse: what is no URL of a service is refused, and so is what would show the key.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"https://ingest.example.org", "https://ingest.example.org:8443/", "http://127.0.0.1:9480", "http://localhost:9480", "http://[::1]:9480"} {
		if u, err := Parse(good); err != nil || u.Path != "" {
			t.Errorf("%s: %v, %v", good, u, err)
		}
	}
	for _, bad := range []string{"", "ingest.example.org", "ftp://ingest.example.org", "https://", "https://ana:" + secret + "@ingest.example.org", "https://ingest.example.org/v1",
		"https://ingest.example.org?key=" + secret, "https://ingest.example.org#x", "http://ingest.example.org", "http://192.0.2.7:9480", "http://localhost.example.org", "https://%zz"} {
		_, err := Parse(bad)
		known, ok := errors.AsType[*app.Error](err)
		if !ok || known.Kind != app.Invalid || known.Hint == "" || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestForms: paths, parameters and bodies arrive as the table says, whatever is in them.
func TestForms(t *testing.T) {
	t.Parallel()
	s, client := serve(t, func(_ int, w http.ResponseWriter) { say(w, http.StatusOK, "{}") })
	for _, c := range []struct {
		name string
		in   any
		line string
	}{
		{"object.show", &operation.ObjectID{ID: "ark:/99999/a b?c"}, "GET /v1/objects/ark:%2F99999%2Fa%20b%3Fc"},
		{"collection.ls", &operation.None{}, "GET /v1/collections"},
		{"job.ls", &operation.JobList{Page: operation.Page{Limit: 7}, Filter: operation.Filter{Submitter: "ana&x=1"}}, "GET /v1/jobs?limit=7&submitter=ana%26x%3D1"},
	} {
		if _, err := Ask[struct{}](t.Context(), client, c.name, c.in); err != nil {
			t.Error(err)
		}
		if seen := s.requests(); len(seen) != 1 || seen[0].line != c.line || seen[0].body != "" || seen[0].key != "" {
			t.Errorf("%+v, want %s", seen, c.line)
		}
	}
	_, err := Send[struct{}](t.Context(), client, "upload.create", &operation.Upload{Name: "a", About: operation.About{LocalIDs: []string{"a,b"}}}, strings.NewReader(""))
	if err == nil || !strings.Contains(err.Error(), "comma") {
		t.Errorf("%v", err)
	}
	if seen := s.requests(); len(seen) != 0 {
		t.Errorf("%+v", seen)
	}
}
