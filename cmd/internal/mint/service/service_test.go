package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/mint/service"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/minter"
)

// doer answers requests without a network.
type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// kinds are the services, each with an identifier that its account may make.
var kinds = map[string]struct{ identifier, shoulder, path, look string }{
	service.EZID:     {"ark:/99999/fk4000000q", "ark:/99999/fk4", "PUT /id/ark:/99999/fk4000000q", "GET /id/ark:/99999/fk4000000q"},
	service.DataCite: {"doi:10.5072/fk4000000f", "10.5072/fk4", "POST /dois", "GET /dois/10.5072/fk4000000f"},
}

func request(kind string) service.Request {
	return service.Request{Identifier: kinds[kind].identifier, For: "north/jid0000000000", Target: "https://files.test/objects/" + kinds[kind].identifier,
		Who: "A creator", What: "100% of the tides\nin one line", When: "2026-11-28", Publisher: "The tests", Year: 2025}
}

// open starts a service, and returns what speaks with it.
func open(t *testing.T, kind string) (*minter.Server, service.Service) {
	t.Helper()
	server := minter.New(t, minter.Options{DataCite: kind == service.DataCite, Shoulder: kinds[kind].shoulder, User: "apitest", Password: "s3cret word"})
	return server, service.Service{Kind: kind, URL: server.URL() + "/", Credentials: service.Credentials{User: "apitest", Password: "s3cret word"}}
}

func fails(t *testing.T, err error, code domain.Code, says string) *service.Error {
	t.Helper()
	var e *service.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Error(), says) {
		t.Fatalf("%v, want %s with %q", err, code, says)
	}
	if strings.Contains(e.Error(), "s3cret") || strings.ContainsAny(e.Error(), "\n\x1b") {
		t.Fatalf("the message shows a secret or controls: %q", e.Error())
	}
	if r := e.Reason(); r.Class != domain.ClassSystem || r.Code != code || r.Message != e.Error() {
		t.Fatalf("%+v", r)
	}
	return e
}

// TestWhatIsSent: the requests are those of testdata, byte for byte, and their answers are
// understood.
func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		golden, err := os.ReadFile("testdata/" + kind + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		scenes := strings.Split(string(golden), "\n-- ")[1:]
		for i, scene := range scenes {
			title, rest, _ := strings.Cut(scene, " --\n")
			parts := strings.Split(strings.TrimSpace(rest), "\n\n")
			status, text, _ := strings.Cut(parts[2], " ")
			code, _ := strconv.Atoi(status)
			r := request(kind)
			if i == 1 {
				r.Target, r.Who, r.What, r.When = "", "", "", ""
			}
			sent := ""
			s := service.Service{Kind: kind, URL: "https://minter.test", Credentials: service.Credentials{User: "apitest", Password: "s3cret word"}}
			err := s.Make(t.Context(), doer(func(req *http.Request) (*http.Response, error) {
				body, _ := io.ReadAll(req.Body)
				sent = fmt.Sprintf("%s %s\nAuthorization: %s\nContent-Type: %s\n\n%s", req.Method, req.URL.Path, req.Header.Get("Authorization"), req.Header.Get("Content-Type"), body)
				return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(text))}, nil
			}), r)
			if want := parts[0] + "\n\n" + parts[1]; err != nil || strings.TrimSpace(sent) != want {
				t.Errorf("%s, %s: %v; it sends\n%s\nand not\n%s", kind, title, err, sent, want)
			}
		}
	}
}

// TestMadeOnce: an identifier is made once, however often it is asked for, also when the answer
// got lost; what another has made is refused.
// Shows: P5
func TestMadeOnce(t *testing.T) {
	t.Parallel()
	for kind, k := range kinds {
		server, s := open(t, kind)
		ask := func() error { return s.Make(t.Context(), http.DefaultClient, request(kind)) }
		server.Fail(minter.Fault{Lose: true})
		if e := fails(t, ask(), service.CodeUnavailable, "does not answer"); !e.Temporary {
			t.Errorf("%s: a lost answer is the end: %v", kind, e)
		}
		for range 3 {
			if err := ask(); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
		if records, made := server.Records(); made != 1 || len(records) != 1 {
			t.Errorf("%s: %d made, %v", kind, made, records)
		}
		if got := server.Requests(); len(got) != 7 || got[0] != k.path || got[1] != k.path || got[2] != k.look {
			t.Errorf("%s: %q", kind, got)
		}
		other := request(kind)
		other.For = "south/jid0000000000"
		fails(t, s.Make(t.Context(), http.DefaultClient, other), service.CodeTaken, `made for "north/jid0000000000" and not for "south/jid0000000000"`)
		server.Put(strings.TrimPrefix(k.identifier, "doi:"), minter.Record{})
		fails(t, ask(), service.CodeTaken, `made for "" and not for`)
		if _, made := server.Records(); made != 1 {
			t.Errorf("%s: %d made", kind, made)
		}
	}
}

// TestAnswers: what ends the job and what is tried again, with the service's own words.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		says := func(words string) string {
			if kind == service.DataCite {
				title, err := json.Marshal(words)
				if err != nil {
					t.Fatal(err)
				}
				return `{"errors":[{"source":"url","title":` + string(title) + `}]}`
			}
			return "error: " + words
		}
		for _, c := range []struct {
			fault     minter.Fault
			code      domain.Code
			says      string
			temporary bool
			after     time.Duration
		}{
			{minter.Fault{Status: 401, Body: says("unauthorized - authentication failure")}, service.CodeUnauthorized, "answers 401 Unauthorized: ", false, 0},
			{minter.Fault{Status: 403, Body: says("forbidden")}, service.CodeUnauthorized, "forbidden; correct the line of the profile in minter_credentials", false, 0},
			{minter.Fault{Status: 400, Body: says("bad request - \u202eno\x1b such namespace")}, service.CodeRefused, "such namespace; see what it does not accept", false, 0},
			{minter.Fault{Status: 422, Body: says("Can't be blank")}, service.CodeRefused, "Can't be blank; see", false, 0},
			{minter.Fault{Status: 429, Header: map[string]string{"Retry-After": "120"}, Body: says("slow down")}, service.CodeUnavailable, "429 Too Many Requests: ", true, 2 * time.Minute},
			{minter.Fault{Status: 503, Body: says("maintenance")}, service.CodeUnavailable, "503 Service Unavailable: ", true, 0},
			{minter.Fault{Status: 500, Body: "<html>" + strings.Repeat("ä", 1000)}, service.CodeUnavailable, "500 Internal Server Error", true, 0},
			{minter.Fault{Status: 200, Body: "<html>welcome</html>"}, service.CodeAnswer, "answers 200 with something else than an identifier", false, 0},
			{minter.Fault{Status: 201, Body: `{"data":{"id":"10.5072/other"}}`}, service.CodeAnswer, "correct the profile's identifier.url", false, 0},
			{minter.Fault{Status: 301, Header: map[string]string{"Location": "/elsewhere"}}, service.CodeRefused, "answers 301", false, 0},
		} {
			server, s := open(t, kind)
			server.Fail(c.fault)
			client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			e := fails(t, s.Make(t.Context(), client, request(kind)), c.code, c.says)
			if again, after := e.Retry(); again != c.temporary || after != c.after || len(e.Message) > 900 {
				t.Errorf("%s, %d: again %v after %v, %d bytes", kind, c.fault.Status, again, after, len(e.Message))
			}
			if _, made := server.Records(); made != 0 {
				t.Errorf("%s, %d: made", kind, c.fault.Status)
			}
		}
	}
}

// TestRealRefusals: what the services say of themselves when account, shoulder or values are
// wrong, or when they are away; a name that may be there is looked for before it is given up.
func TestRealRefusals(t *testing.T) {
	t.Parallel()
	for kind, k := range kinds {
		server, s := open(t, kind)
		bad := s
		bad.Credentials.Password = "another"
		fails(t, bad.Make(t.Context(), http.DefaultClient, request(kind)), service.CodeUnauthorized, "401")
		bad.Credentials = service.Credentials{}
		fails(t, bad.Make(t.Context(), http.DefaultClient, request(kind)), service.CodeNoCredentials, "no line for the profile")
		foreign := request(kind)
		foreign.Identifier = strings.Replace(k.identifier, "fk4", "fk5", 1)
		fails(t, s.Make(t.Context(), http.DefaultClient, foreign), service.CodeUnauthorized, "403")

		server.Fail(minter.Fault{Status: 422, Body: "{}"}, minter.Fault{Status: 503})
		if e := fails(t, s.Make(t.Context(), http.DefaultClient, request(kind)), service.CodeUnavailable, "503"); !e.Temporary {
			t.Errorf("%s: what could not be looked for is the end: %v", kind, e)
		}
		ctx, cancel := context.WithCancel(t.Context())
		server.Fail(minter.Fault{Hang: true})
		go func() { <-server.Hung(); cancel() }()
		var e *service.Error
		if err := s.Make(ctx, http.DefaultClient, request(kind)); !errors.As(err, &e) || e.Reason().Class != domain.ClassCancelled || e.Temporary {
			t.Errorf("%s: %v", kind, err)
		}
		server.Down()
		if e := fails(t, s.Make(t.Context(), http.DefaultClient, request(kind)), service.CodeUnavailable, "does not answer"); !e.Temporary {
			t.Errorf("%s: %v", kind, e)
		}
		server.Up()
		if err := s.Make(t.Context(), http.DefaultClient, request(kind)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if _, made := server.Records(); made != 1 {
			t.Errorf("%s: %d made", kind, made)
		}
	}
}
