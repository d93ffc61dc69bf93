package httpapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/console"
	"github.com/accession-ingest/accession/domain/access"
)

// TestCredentialOfPages: a page is shown to who has a session in a cookie; the API does not take
// the cookie, and pages take no key. Who is not known is led to the page to sign in, and back.
func TestCredentialOfPages(t *testing.T) {
	t.Parallel()
	h := handlerOf(t, io.Discard)
	for _, c := range []struct {
		method, path, auth, cookie string
		status                     int
		location, text             string
	}{
		{"GET", "/console/", "", "", 303, "/console/sign-in", ""},
		{"GET", "/console", "", "", 303, "/console/", ""},
		{"GET", "/console/jobs?state=failed", "", "", 303, "/console/sign-in?next=%2Fconsole%2Fjobs%3Fstate%3Dfailed", ""},
		{"HEAD", "/console/jobs", "", "", 303, "/console/sign-in?next=%2Fconsole%2Fjobs", ""},
		{"GET", "/console/batches.csv", "", "", 303, "/console/sign-in?next=%2Fconsole%2Fbatches.csv", ""},
		{"GET", "/console/", "Bearer good", "", 303, "/console/sign-in", ""},
		{"GET", "/console/nowhere", "", "bad", 303, "/console/sign-in?next=%2Fconsole%2Fnowhere", ""},
		{"GET", "/console/nowhere", "", "good", 404, "", "there is no such page"},
		{"GET", "/console/batches?colour=red", "", "good", 400, "", "colour"},
		{"GET", "/console/queues", "", "good", 403, "", "you have no right to see this in all collections"},
		{"POST", "/console/nowhere", "", "", 401, "", "the key is not valid"},
		{"GET", "/console/sign-in", "", "", 200, "", `name="password"`},
		{"GET", "/v1/self", "", "good", 401, "", "the key is not valid"},
		{"GET", "/v1/self", "Bearer good", "", 200, "", `"ana"`},
	} {
		r := httptest.NewRequest(c.method, c.path, http.NoBody)
		if c.auth != "" {
			r.Header.Set("Authorization", c.auth)
		}
		if c.cookie != "" {
			r.AddCookie(&http.Cookie{Name: console.Cookie, Value: c.cookie})
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || w.Header().Get("Location") != c.location || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s %s with %q and %q: %d %q %s", c.method, c.path, c.auth, c.cookie, w.Code, w.Header().Get("Location"), w.Body)
		}
		if c.text != "" && strings.HasPrefix(c.path, "/console") && w.Header().Get("Content-Security-Policy") != console.Policy {
			t.Errorf("%s: %v", c.path, w.Header())
		}
	}
}

// TestFront: the address of the service leads browsers to the pages, and programs nowhere.
func TestFront(t *testing.T) {
	t.Parallel()
	h := handlerOf(t, io.Discard)
	for accept, status := range map[string]int{"text/html,application/xhtml+xml": 303, "*/*": 404, "application/json": 404, "": 404} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != status || status == 303 && w.Header().Get("Location") != console.Path {
			t.Errorf("%q: %d %v", accept, w.Code, w.Header())
		}
	}
}

// audited keeps what is noted of callers, and knows one session and one password.
type audited struct {
	oneKey
	notes []string
}

// Note implements People.
func (a *audited) Note(_ context.Context, by people.By, action, _, outcome, _, _ string) error {
	a.notes = append(a.notes, by.Name+" "+action+" "+outcome)
	return nil
}

// TestPagesAreAudited: what a page was refused is audited once, as of any program.
func TestPagesAreAudited(t *testing.T) {
	t.Parallel()
	a := &audited{oneKey: oneKey{access.Caller{Name: "ana"}}}
	h := (&Server{People: a, Version: "test", Log: slog.New(slog.NewTextHandler(io.Discard, nil))}).Handler()
	for path, note := range map[string]string{"/console/queues": "ana queue.ls refused", "/console/batches?colour=red": "ana batch.ls refused"} {
		a.notes = nil
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		r.AddCookie(&http.Cookie{Name: console.Cookie, Value: "good"})
		h.ServeHTTP(httptest.NewRecorder(), r)
		if !slices.Equal(a.notes, []string{note}) {
			t.Errorf("%s: %q", path, a.notes)
		}
	}
}

// TestFormsOfOthers: a page of another origin signs no one in, and no one out.
func TestFormsOfOthers(t *testing.T) {
	t.Parallel()
	h := handlerOf(t, io.Discard)
	for _, path := range []string{"/console/sign-in", "/console/sign-out"} {
		for header, value := range map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"} {
			r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(url.Values{"name": {"ana"}, "password": {"right"}}.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set(header, value)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusForbidden || w.Header().Get("Set-Cookie") != "" {
				t.Errorf("%s with %s: %d %v", path, header, w.Code, w.Header())
			}
		}
	}
}
