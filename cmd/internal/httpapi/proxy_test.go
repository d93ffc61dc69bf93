package httpapi

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// TestComesFrom: only proxies in front are believed, and only about the hop before them.
func TestComesFrom(t *testing.T) {
	t.Parallel()
	s := &Server{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}
	for _, c := range []struct {
		remote, forwarded, want string
	}{
		{"192.0.2.1:99", "", "192.0.2.1"},
		{"192.0.2.1:99", "198.51.100.7", "192.0.2.1"}, // no proxy of ours says so
		{"10.0.0.1:99", "", "10.0.0.1"},
		{"10.0.0.1:99", "198.51.100.7", "198.51.100.7"},
		{"10.0.0.1:99", "203.0.113.9, 198.51.100.7", "198.51.100.7"}, // the first is what the client wrote
		{"10.0.0.1:99", "198.51.100.7, 10.0.0.2", "198.51.100.7"},
		{"10.0.0.1:99", "198.51.100.7, nonsense", "10.0.0.1"},
		{"10.0.0.1:99", "nonsense, 198.51.100.7", "198.51.100.7"},
		{"[::ffff:10.0.0.1]:99", "2001:db8::1", "2001:db8::1"},
		{"[fd00::1]:99", "198.51.100.7", "198.51.100.7"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = c.remote
		r.Header.Set("X-Forwarded-For", c.forwarded)
		if got := s.comesFrom(r); got != c.want {
			t.Errorf("%s, %q: %s, want %s", c.remote, c.forwarded, got, c.want)
		}
	}
	none := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	none.RemoteAddr = "10.0.0.1:99"
	none.Header.Set("X-Forwarded-For", "198.51.100.7")
	if got := (&Server{}).comesFrom(none); got != "10.0.0.1" {
		t.Errorf("without proxies: %s", got)
	}
}

// TestPagesOfOtherOrigins cannot send what changes something, whatever password the browser
// adds.
func TestPagesOfOtherOrigins(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	h := handlerOf(t, &log)
	for name, c := range map[string]struct {
		method string
		header [2]string
		status int
	}{
		"another site":         {http.MethodPost, [2]string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		"another origin":       {http.MethodPost, [2]string{"Origin", "https://evil.example"}, http.StatusForbidden},
		"a link":               {http.MethodGet, [2]string{"Sec-Fetch-Site", "cross-site"}, http.StatusUnauthorized},
		"a program":            {http.MethodPost, [2]string{"User-Agent", "curl"}, http.StatusUnauthorized},
		"a page of the server": {http.MethodPost, [2]string{"Sec-Fetch-Site", "same-origin"}, http.StatusUnauthorized},
	} {
		r := httptest.NewRequest(c.method, "/v1/self", http.NoBody)
		if c.method == http.MethodPost {
			r.URL.Path = "/v1/sessions"
		}
		r.Header.Set(c.header[0], c.header[1])
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != c.status || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}
