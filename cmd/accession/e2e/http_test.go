package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/httpapi"
	"github.com/accession-ingest/accession/domain/access"
)

// door is an API of an installation, whose callers are who they say: the token
// "ana depositor/test operator/*" is ana with two rights.
type door struct {
	in  *installation
	url string
	log lockedBuffer

	mu    sync.Mutex
	notes []string // ACTION OUTCOME DETAIL
}

// door serves the API in the test's own process.
func (in *installation) door() *door {
	d := &door{in: in}
	s := httptest.NewServer((&httpapi.Server{Open: in.app.Open, People: d, Version: "test", Log: slog.New(slog.NewTextHandler(&d.log, nil))}).Handler())
	in.t.Cleanup(func() {
		s.Close()
		if in.t.Failed() {
			in.t.Logf("log of the API:\n%s", d.log.tail(6000))
		}
	})
	d.url = s.URL
	return d
}

// Authenticate implements httpapi.People.
func (d *door) Authenticate(_ context.Context, c people.Credential, _ string) (access.Caller, string, error) {
	words := strings.Fields(c.Token)
	if len(words) == 0 {
		return access.Caller{}, "", &app.Error{Kind: app.Unauthenticated, Err: errors.New("who are you?")}
	}
	return access.Caller{Name: words[0], Rights: rightsOf(words[1:])}, "key", nil
}

func rightsOf(words []string) (all []access.Right) {
	for _, word := range words {
		role, collection, _ := strings.Cut(word, "/")
		r := access.Right{Role: access.Role(role), Scope: access.In(collection)}
		if collection == "*" {
			r.Scope = access.Everywhere
		}
		all = append(all, r)
	}
	return all
}

// Note implements httpapi.People.
func (d *door) Note(_ context.Context, _ people.By, action, _, outcome, detail, _ string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, strings.TrimSpace(action+" "+outcome+" "+detail))
	return nil
}

// noted counts what was audited so.
func (d *door) noted(what string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.notes {
		if one == what {
			n++
		}
	}
	return n
}

// answer is the answer to a request.
type answer struct {
	status int
	header http.Header
	body   string
	httpapi.Problem
}

// ask sends a request with headers, each name: value.
func (d *door) ask(caller, method, path, body string, headers ...string) (a answer) {
	d.in.t.Helper()
	return d.send(caller, method, path, strings.NewReader(body), headers...)
}

func (d *door) send(caller, method, path string, body io.Reader, headers ...string) (a answer) {
	d.in.t.Helper()
	r, err := http.NewRequestWithContext(d.in.ctx(), method, d.url+path, body)
	d.in.must(err)
	if b, ok := body.(*strings.Reader); ok && b.Len() > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	return d.do(r, caller, headers...)
}

// do sends a request that is made already.
func (d *door) do(r *http.Request, caller string, headers ...string) (a answer) {
	d.in.t.Helper()
	r.Header.Set("Authorization", "Bearer "+caller)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	d.in.must(err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	d.in.must(err)
	a = answer{status: res.StatusCode, header: res.Header, body: string(data)}
	described(d.in.t, r, res, data)
	if res.StatusCode >= 400 && r.Method != http.MethodHead {
		if err := json.Unmarshal(bytes.TrimSpace(data), &a.Problem); err != nil || a.Status != a.status || a.Code == "" || a.Request == "" {
			d.in.t.Errorf("%s %s: %d is no problem: %s", r.Method, r.URL.Path, a.status, data)
		}
		for _, inner := range []string{d.in.dir, d.in.settings["drop_dir"], d.in.settings["zookeeper"], d.in.settings["nats"], d.in.settings["postgres"]} {
			if inner != "" && strings.Contains(a.body, inner) {
				d.in.t.Errorf("%s %s: %d tells of the inside, %s: %s", r.Method, r.URL.Path, a.status, inner, data)
			}
		}
	}
	return a
}

// into decodes the answer to a request that must succeed.
func (a answer) into(d *door, v any) answer {
	d.in.t.Helper()
	if a.status >= 300 {
		d.in.t.Fatalf("%d %s", a.status, a.body)
	}
	d.in.must(json.Unmarshal([]byte(a.body), v))
	return a
}

// is checks the status and code of an answer.
func (a answer) is(d *door, status int, code app.Kind) answer {
	d.in.t.Helper()
	if a.status != status || a.Code != string(code) {
		d.in.t.Errorf("%d %s, want %d %s", a.status, a.body, status, code)
	}
	return a
}

// idsIn returns the ids in a list.
func idsIn(body string) (ids []string) {
	var list struct{ Items []map[string]any }
	_ = json.Unmarshal([]byte(body), &list) // what is no list has none
	for _, item := range list.Items {
		for _, name := range []string{"id", "collection", "name"} {
			if id, ok := item[name].(string); ok {
				ids = append(ids, id)
				break
			}
		}
	}
	slices.Sort(ids)
	return ids
}
