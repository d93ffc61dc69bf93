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

// TestForwarded: of a proxy that writes Forwarded, that header is believed, and no other; from
// another address, neither is. What is not written as RFC 7239 says is not believed.
func TestForwarded(t *testing.T) {
	t.Parallel()
	s := &Server{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}, Forwarded: true}
	for _, c := range []struct {
		remote    string
		forwarded []string
		want      string
	}{
		{"192.0.2.1:99", []string{"for=198.51.100.7"}, "192.0.2.1"}, // no proxy of ours says so
		{"10.0.0.1:99", nil, "10.0.0.1"},
		{"10.0.0.1:99", []string{"for=198.51.100.7"}, "198.51.100.7"},
		{"10.0.0.1:99", []string{`For="198.51.100.7:4711";proto=https;by=10.0.0.1`}, "198.51.100.7"},
		{"10.0.0.1:99", []string{`by=10.0.0.1; for="[2001:db8:cafe::17]:4711"`}, "2001:db8:cafe::17"},
		{"10.0.0.1:99", []string{`for="[2001:db8:cafe::17]"`}, "2001:db8:cafe::17"},
		{"10.0.0.1:99", []string{`for="[::ffff:198.51.100.7]"`}, "198.51.100.7"},
		{"10.0.0.1:99", []string{`for="198.51.100.7:_hidden"`}, "198.51.100.7"},
		{"10.0.0.1:99", []string{`for="198.51\.100.7"`}, "198.51.100.7"},
		{"10.0.0.1:99", []string{"for=203.0.113.9, for=198.51.100.7"}, "198.51.100.7"},          // the first is what the client wrote
		{"10.0.0.1:99", []string{"for=203.0.113.9", "for=198.51.100.7"}, "198.51.100.7"},        // in a line of its own
		{"10.0.0.1:99", []string{"for=198.51.100.7, for=10.0.0.2"}, "198.51.100.7"},             // two proxies of ours
		{"10.0.0.1:99", []string{`for=198.51.100.7,for="[fd00::2]",,for=10.0.0.2`}, "10.0.0.2"}, // an empty element is a hop without an address
		{"10.0.0.1:99", []string{`for=198.51.100.7,for="[fd00::2]:80",for=10.0.0.2;proto=http`}, "198.51.100.7"},
		{"10.0.0.1:99", []string{"for=198.51.100.7, for=192.0.2.9, for=10.0.0.2"}, "192.0.2.9"}, // of an unknown proxy it is not known what it says
		{"10.0.0.1:99", []string{"for=198.51.100.7, for=unknown"}, "10.0.0.1"},
		{"10.0.0.1:99", []string{"for=198.51.100.7, for=_secret"}, "10.0.0.1"},
		{"10.0.0.1:99", []string{"for=198.51.100.7, proto=https"}, "10.0.0.1"}, // the proxy does not say for whom
		// What a client writes to swallow what the proxy puts behind it.
		{"10.0.0.1:99", []string{`for="`, "for=198.51.100.7"}, "10.0.0.1"},
		{"10.0.0.1:99", []string{`for=203.0.113.9;a="`, `for="[2001:db8::1]"`}, "10.0.0.1"},
		{"10.0.0.1:99", []string{`for=203.0.113.9;a=`, `for=198.51.100.7`}, "10.0.0.1"},
		{"10.0.0.1:99", []string{`for=203.0.113.9;for=203.0.113.9`, `for=198.51.100.7`}, "10.0.0.1"},
		{"10.0.0.1:99", []string{`203.0.113.9`, `for=198.51.100.7`}, "10.0.0.1"},
		{"10.0.0.1:99", []string{"for = 203.0.113.9"}, "10.0.0.1"},
		{"10.0.0.1:99", []string{"for=203.0.113.9 for=198.51.100.7"}, "10.0.0.1"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr, r.Header["Forwarded"] = c.remote, c.forwarded
		r.Header.Set("X-Forwarded-For", "203.0.113.66") // as a client wrote it, and the proxy handed it on
		if got := s.comesFrom(r); got != c.want {
			t.Errorf("%s, %q: %s, want %s", c.remote, c.forwarded, got, c.want)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.RemoteAddr = "10.0.0.1:99"
	r.Header.Set("X-Forwarded-For", "198.51.100.7")
	r.Header.Set("Forwarded", "for=203.0.113.66") // as a client wrote it
	s.Forwarded = false
	if got := s.comesFrom(r); got != "198.51.100.7" {
		t.Errorf("of a proxy that writes X-Forwarded-For: %s", got)
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
