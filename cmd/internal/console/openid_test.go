package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
)

// signsIn is a provider at which everyone is signed in whose code is good.
type signsIn struct {
	begun    []string // addresses, and where they are led
	finished []people.OpenIDAnswer
	next     string // where a sign-in leads
	fault    error
}

func (s *signsIn) Begin(_ context.Context, address, next string) (token, to string, err error) {
	s.begun = append(s.begun, address+" "+next)
	return "a-token", "https://login.example.org/authorize?state=x", s.fault
}

func (s *signsIn) Finish(_ context.Context, address, token string, a people.OpenIDAnswer) (people.Session, string, error) {
	s.finished = append(s.finished, a)
	if s.fault != nil {
		return people.Session{}, "", s.fault
	}
	if token != "a-token" || a.Code != "good" || address != "192.0.2.1" {
		return people.Session{}, "", &app.Error{Kind: app.Unauthenticated, What: "sign in", Err: errors.New("it is <b>not</b> \u202egood"), Hint: "begin\u202e again"}
	}
	return people.Session{Token: "ses_new", ExpiresAt: time.Now().Add(time.Hour)}, s.next, nil
}

// openIDPages returns the pages with a provider, nil = without one, and what they log.
func openIDPages(s *signsIn) (http.Handler, *strings.Builder) {
	mux, log := http.NewServeMux(), &strings.Builder{}
	c := &Console{Log: slog.New(slog.NewTextHandler(log, nil)), RequestID: func(*http.Request) string { return "id-7" }, From: func(*http.Request) string { return "192.0.2.1" }}
	if s != nil {
		c.OpenID = s
	}
	for _, r := range c.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	return mux, log
}

// kept returns what an answer keeps in a cookie, "" = nothing; every cookie is for this host alone.
func kept(t *testing.T, w *httptest.ResponseRecorder, name string) string {
	t.Helper()
	value := ""
	for _, c := range w.Result().Cookies() {
		if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || !strings.HasPrefix(c.Name, "__Host-") {
			t.Errorf("%+v", c)
		}
		if c.Name == name && c.MaxAge >= 0 {
			value = c.Value
		}
	}
	return value
}

// TestSignInByOpenID: the page to sign in leads to the provider, and who comes back has a session.
func TestSignInByOpenID(t *testing.T) {
	t.Parallel()
	s := &signsIn{next: Path + "jobs?state=failed"}
	h, _ := openIDPages(s)
	link := `href="` + openIDPath + `?next=%2Fconsole%2Fjobs%3Fstate%3Dfailed"`
	if text := visited(h, http.MethodGet, Path+"sign-in?next="+url.QueryEscape(s.next), nil).Body.String(); !strings.Contains(text, link) || !strings.Contains(text, `name="password"`) {
		t.Error(text)
	}
	w := visited(h, http.MethodGet, openIDPath+"?next="+url.QueryEscape(s.next), nil)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "https://login.example.org/authorize?state=x" || kept(t, w, openIDCookie) != "a-token" || len(s.begun) != 1 || s.begun[0] != "192.0.2.1 "+s.next {
		t.Errorf("%d %v %q", w.Code, w.Header(), s.begun)
	}
	token := &http.Cookie{Name: openIDCookie, Value: "a-token"}
	w = visited(h, http.MethodGet, OpenIDDone+"?state=st&code=bad&iss=i&error=e", nil, token)
	if w.Code != http.StatusUnauthorized || kept(t, w, Cookie) != "" || !strings.Contains(w.Body.String(), "it is &lt;b&gt;not&lt;/b&gt; ") || !strings.Contains(w.Body.String(), "again") || strings.Contains(w.Body.String(), "\u202e") || !strings.Contains(w.Body.String(), `name="password"`) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if want := (people.OpenIDAnswer{State: "st", Code: "bad", Issuer: "i", Error: "e"}); s.finished[0] != want {
		t.Errorf("%+v", s.finished)
	}
	if w := visited(h, http.MethodGet, OpenIDDone+"?state=st&code=good", nil); w.Code != http.StatusUnauthorized || kept(t, w, Cookie) != "" {
		t.Errorf("without the cookie: %d %v", w.Code, w.Header())
	}
	w = visited(h, http.MethodGet, OpenIDDone+"?state=st&code=good", nil, token)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != s.next || kept(t, w, Cookie) != "ses_new" || kept(t, w, openIDCookie) != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// TestOpenIDLeadsNowhereElse: no link signs in anyone and leads on to another host, and no page of
// another origin begins anything.
func TestOpenIDLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	s := &signsIn{}
	h, _ := openIDPages(s)
	for _, next := range []string{"https://evil.example/", "//evil.example/console/", `/\evil.example`, "/console/../v1/jobs", "javascript:alert(1)", "/v1/jobs", "", `/console/\..\..`} {
		w := visited(h, http.MethodGet, openIDPath+"?next="+url.QueryEscape(next), nil)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != Path+"sign-in" || kept(t, w, openIDCookie) != "" {
			t.Errorf("%q: %d %v", next, w.Code, w.Header())
		}
		s.next = next
		w = visited(h, http.MethodGet, OpenIDDone+"?state=st&code=good", nil, &http.Cookie{Name: openIDCookie, Value: "a-token"})
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != Path {
			t.Errorf("%q: at last %d %v", next, w.Code, w.Header())
		}
	}
	for site, begins := range map[string]bool{"cross-site": false, "same-site": false, "same-origin": true, "none": true} {
		s.begun = nil
		r := httptest.NewRequest(http.MethodGet, openIDPath+"?next="+url.QueryEscape(Path), http.NoBody)
		r.Header.Set("Sec-Fetch-Site", site)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); len(s.begun) == 1 != begins || w.Code != http.StatusSeeOther {
			t.Errorf("%s: %d %v", site, w.Code, w.Header())
		}
	}
}

// TestOpenIDFaults: a provider that is down is said to be, with the way that is left, and only the
// log has the cause; without a provider there is no way to it.
func TestOpenIDFaults(t *testing.T) {
	t.Parallel()
	s := &signsIn{fault: &app.Error{Kind: app.Failed, What: "sign in", Err: &people.ProviderError{Err: errors.New("dial tcp 192.0.2.9:443: refused")}}}
	h, log := openIDPages(s)
	for _, path := range []string{openIDPath + "?next=" + url.QueryEscape(Path), OpenIDDone + "?state=st&code=good"} {
		w := visited(h, http.MethodGet, path, nil, &http.Cookie{Name: openIDCookie, Value: "a-token"})
		text := w.Body.String()
		if w.Code != http.StatusServiceUnavailable || kept(t, w, Cookie) != "" || kept(t, w, openIDCookie) != "" || !strings.Contains(text, "or sign in with name and password") || !strings.Contains(text, `name="password"`) || strings.Contains(text, "192.0.2.9") {
			t.Errorf("%s: %d %v %s", path, w.Code, w.Header(), text)
		}
	}
	if n := strings.Count(log.String(), "192.0.2.9:443: refused"); n != 2 || strings.Count(log.String(), "request=id-7") != 2 {
		t.Errorf("the log has %d of it: %s", n, log)
	}
	h, _ = openIDPages(nil)
	if text := visited(h, http.MethodGet, Path+"sign-in", nil).Body.String(); strings.Contains(text, openIDPath) {
		t.Error(text)
	}
	for _, path := range []string{openIDPath, OpenIDDone} {
		if w := visited(h, http.MethodGet, path, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
