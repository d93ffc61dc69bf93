package stepservice_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/stepservice"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/stepserver"
)

const (
	key      = "jid0000000042/3/recording"
	manifest = `{"object_id": "ark:/99999/fk4", "version": 3, "files": []}`
	sha      = "94bc14ed0f23a48ea0a9e9d2e0e0d5b3d8ce8ab2c12f6b7a8d3e0f7a4b1c2d3e"
)

var request = stepservice.Request{Key: key, Object: "ark:/99999/fk4", Version: 3, Manifest: []byte(manifest)}

// open starts a service, and returns what speaks with it.
func open(t *testing.T) (*stepserver.Server, stepservice.Service) {
	t.Helper()
	server := stepserver.New(t, "archive", "s3cret word")
	return server, stepservice.Service{Field: "recording", URL: server.URL, Credentials: stepservice.Credentials{User: "archive", Password: "s3cret word"}}
}

func fails(t *testing.T, err error, code domain.Code, class domain.Class, says string) *stepservice.Error {
	t.Helper()
	var e *stepservice.Error
	if !errors.As(err, &e) || e.Code != code || e.Class != class || !strings.Contains(e.Error(), says) {
		t.Fatalf("%v, want %s (%s) with %q", err, code, class, says)
	}
	if strings.Contains(e.Error(), "s3cret") || strings.ContainsAny(e.Error(), "\n\x1b") {
		t.Fatalf("the message shows a secret or controls: %q", e.Error())
	}
	if r := e.Reason(); r.Class != class || r.Code != code || r.Message != e.Error() {
		t.Fatalf("%+v", r)
	}
	return e
}

// TestWhatIsSent: a request has the manifest, its key and its digest, and the account.
func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	var sent []*http.Request
	via := doer(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r)
		body, _ := io.ReadAll(r.Body)
		if want := map[string]string{http.MethodPost: manifest, http.MethodGet: ""}[r.Method]; string(body) != want {
			t.Errorf("%s %q", r.Method, body)
		}
		return answer(200, nil, stepserver.Answer(manifest, "7")), nil
	})
	s := stepservice.Service{Field: "recording", URL: "https://records.test/in", Credentials: stepservice.Credentials{User: "archive", Password: "s3cret word"}}
	if a, err := s.Ask(t.Context(), via, request); err != nil || a.Done == nil || a.Done.ID != "7" || a.Done.Version != 3 || a.Done.Manifest != request.SHA256() {
		t.Fatalf("%+v %v", a, err)
	}
	if a, err := s.Look(t.Context(), via, request, "https://records.test/at/7"); err != nil || a.Done == nil {
		t.Fatalf("%+v %v", a, err)
	}
	const digest = "sha-256=:GD1EprI9qWime3WImWSZQJ/oPauI6inOIBABOhTT33E=:"
	if h := sent[0].Header; sent[0].URL.String() != s.URL || h.Get("Idempotency-Key") != key || h.Get("Content-Type") != "application/json" || h.Get("Repr-Digest") != digest {
		t.Errorf("%s %v", sent[0].URL, h)
	}
	for _, r := range sent {
		if user, password, _ := r.BasicAuth(); user != "archive" || password != "s3cret word" || r.Header.Get("Accept") != "application/json" || r.Header.Get("Idempotency-Key") != key {
			t.Errorf("%v", r.Header)
		}
	}
	s.Credentials = stepservice.Credentials{}
	if _, err := s.Ask(t.Context(), via, request); err != nil || sent[2].Header.Get("Authorization") != "" {
		t.Errorf("%v %v", err, sent[2].Header)
	}
}

// doer answers requests without a network.
type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

func answer(status int, header map[string]string, body string) *http.Response {
	h := http.Header{}
	for name, value := range header {
		h.Set(name, value)
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// once makes a new connection for each request: a client may make one again by itself whose
// connection was used before, for it has a key.
var once = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// TestRefusals: what ends the job and what is tried again, and who must act, in the words of the
// service.
func TestRefusals(t *testing.T) {
	t.Parallel()
	server, s := open(t)
	for _, c := range []struct {
		fault stepserver.Fault
		code  domain.Code
		class domain.Class
		says  string
		again bool
		after time.Duration
	}{
		{stepserver.Fault{Status: 401, Body: "no\x1b[0m\nway"}, stepservice.CodeUnauthorized, domain.ClassSystem, "answers 401 Unauthorized: no\ufffd[0m way; correct the line of the profile in service_credentials", false, 0},
		{stepserver.Fault{Status: 403}, stepservice.CodeUnauthorized, domain.ClassSystem, "answers 403 Forbidden; correct", false, 0},
		{stepserver.Fault{Status: 403, Body: "YXJjaGl2ZTpzM2NyZXQgd29yZA== is archive:s3cret word"}, stepservice.CodeUnauthorized, domain.ClassSystem, "403 Forbidden: … is archive:…; correct", false, 0},
		{stepserver.Fault{Status: 404}, stepservice.CodeRefused, domain.ClassSystem, "correct the profile's recording", false, 0},
		{stepserver.Fault{Status: 409, Body: `{"detail":"it has another version 3"}`}, stepservice.CodeRefused, domain.ClassContent, ": it has another version 3; correct the object", false, 0},
		{stepserver.Fault{Status: 409, Header: map[string]string{"Retry-After": "2"}}, stepservice.CodeUnavailable, domain.ClassSystem, "409", true, 2 * time.Second},
		{stepserver.Fault{Status: 422, Body: `{"title":"Not valid","detail":"no title"}`}, stepservice.CodeRefused, domain.ClassContent, ": Not valid: no title; correct the object", false, 0},
		{stepserver.Fault{Status: 422, Body: strings.Repeat("é", 2000)}, stepservice.CodeRefused, domain.ClassContent, "é…", false, 0},
		{stepserver.Fault{Status: 429, Header: map[string]string{"Retry-After": "17"}}, stepservice.CodeUnavailable, domain.ClassSystem, "429", true, 17 * time.Second},
		{stepserver.Fault{Status: 500, Body: "oh"}, stepservice.CodeUnavailable, domain.ClassSystem, "500 Internal Server Error: oh", true, 0},
		{stepserver.Fault{Status: 503}, stepservice.CodeUnavailable, domain.ClassSystem, "503", true, 0},
		{stepserver.Fault{Lose: true}, stepservice.CodeUnavailable, domain.ClassSystem, "does not answer; see whether the profile's recording can be reached", true, 0},
	} {
		server.Fail(c.fault)
		_, err := s.Ask(t.Context(), once, request)
		e := fails(t, err, c.code, c.class, c.says)
		if again, after := e.Retry(); again != c.again || after != c.after || e.Status != c.fault.Status {
			t.Errorf("%+v: %+v", c.fault, e)
		}
	}
}

// TestLies: an answer that is none, or about something else, is refused and says what is wrong.
func TestLies(t *testing.T) {
	t.Parallel()
	server, s := open(t)
	right := stepserver.Answer(manifest, "7")
	lie := func(was, is string) string {
		if !strings.Contains(right, was) {
			t.Fatalf("%s has no %s", right, was)
		}
		return strings.Replace(right, was, is, 1)
	}
	for _, c := range []struct {
		fault stepserver.Fault
		says  string
	}{
		{stepserver.Fault{Status: 200, Body: lie("ark:/99999/fk4", "ark:/99999/fk5")}, `its object_id is "ark:/99999/fk5", and that of what was sent is "ark:/99999/fk4"`},
		{stepserver.Fault{Status: 201, Body: lie(`"version":3`, `"version":4`)}, `its version is "4"`},
		{stepserver.Fault{Status: 200, Body: lie(request.SHA256(), sha)}, `its manifest_sha256 is "` + sha},
		{stepserver.Fault{Status: 200, Body: lie(`"7"`, `"7\u0000"`)}, "its id is not one line"},
		{stepserver.Fault{Status: 200, Body: lie(`"7"`, `"`+strings.Repeat("7", 256)+`"`)}, "its id is not one line of up to 255 bytes"},
		{stepserver.Fault{Status: 200, Body: "{}"}, `its object_id is ""`},
		{stepserver.Fault{Status: 200}, "it is not JSON"},
		{stepserver.Fault{Status: 200, Body: right + right}, "it is not JSON"},
		{stepserver.Fault{Status: 200, Body: lie(`"version":3`, `"version":"3"`)}, "it is not JSON"},
		{stepserver.Fault{Status: 200, Body: right + strings.Repeat(" ", 64<<10)}, "it has more than 65536 bytes"},
		{stepserver.Fault{Status: 204}, "204"},
		{stepserver.Fault{Status: 300}, "300"},
		{stepserver.Fault{Status: 202}, "it has no Location"},
		{stepserver.Fault{Status: 202, Header: map[string]string{"Location": "http://elsewhere.test/steps/1"}}, "of another server, http://elsewhere.test"},
		{stepserver.Fault{Status: 202, Header: map[string]string{"Location": strings.Replace(s.URL, "http://", "http://a:b@", 1)}}, "of another server"},
		{stepserver.Fault{Status: 202, Header: map[string]string{"Location": ":"}}, "is not a URL"},
		{stepserver.Fault{Status: 202, Header: map[string]string{"Location": "/" + strings.Repeat("a", 2048)}}, "is not a URL of up to 2048 bytes"},
	} {
		server.Fail(c.fault)
		_, err := s.Ask(t.Context(), http.DefaultClient, request)
		if e := fails(t, err, stepservice.CodeAnswer, domain.ClassSystem, c.says); e.Temporary || e.Status != c.fault.Status {
			t.Errorf("%+v", e)
		}
	}
	if len(server.Works()) > 0 {
		t.Errorf("%v", server.Works())
	}
}

// TestLater: a service that takes a step says where it tells more, and how long that takes.
func TestLater(t *testing.T) {
	t.Parallel()
	server, s := open(t)
	server.Later(2)
	a, err := s.Ask(t.Context(), http.DefaultClient, request)
	if err != nil || a.Location != s.URL+"/"+key || a.Done != nil {
		t.Fatalf("%+v %v", a, err)
	}
	server.Fail(stepserver.Fault{Status: 202, Header: map[string]string{"Retry-After": "3"}})
	if a, err = s.Look(t.Context(), http.DefaultClient, request, a.Location); err != nil || a.After != 3*time.Second || a.Location != s.URL+"/"+key {
		t.Fatalf("%+v %v", a, err)
	}
	for range 2 {
		if a, err = s.Look(t.Context(), http.DefaultClient, request, s.URL+"/"+key); err != nil {
			t.Fatal(err)
		}
	}
	if a.Done == nil || a.Done.ID != "record of jid0000000042" {
		t.Errorf("%+v", a)
	}
	if w := server.Works()[key]; w.Asked != 1 || w.Looked != 2 || w.Done != 1 || w.Manifest != manifest {
		t.Errorf("%+v", w)
	}
}

// TestHas: a port that is that of the scheme, and the case of a host, make no other server.
func TestHas(t *testing.T) {
	t.Parallel()
	s := stepservice.Service{URL: "https://vault.example.org/versions"}
	for at, want := range map[string]bool{"https://vault.example.org/x": true, "https://Vault.example.org:443/x": true, "http://vault.example.org/x": false,
		"https://vault.example.org:444/x": false, "https://a@vault.example.org/x": false, "https://example.org/x": false} {
		if s.Has(at) != want {
			t.Errorf("%s is of the service: %t", at, !want)
		}
	}
}

// TestAccountOf: a service has the account of its own line, else that of its profile, and none of
// another profile.
func TestAccountOf(t *testing.T) {
	t.Parallel()
	all := map[string]stepservice.Credentials{"maps": {User: "all"}, "maps/storage": {User: "vault"}, "rocks/recording": {User: "rocks"}}
	for of, want := range map[[2]string]string{{"maps", "storage"}: "vault", {"maps", "recording"}: "all", {"rocks", "recording"}: "rocks", {"rocks", "storage"}: "", {"sea", "storage"}: ""} {
		if got := stepservice.AccountOf(all, of[0], of[1]); got.User != want {
			t.Errorf("%v: %+v, want %q", of, got, want)
		}
	}
}
