package fetch

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
)

func TestDoGuardsRequests(t *testing.T) {
	t.Parallel()
	var seen atomic.Value
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Clone())
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.Copy(w, r.Body)
	})
	c := local(t, quick())
	for range 2 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || string(text) != "hello" || resp.StatusCode != http.StatusTeapot {
			t.Fatalf("%d %q %v", resp.StatusCode, text, err)
		}
		h := seen.Load().(http.Header)
		if h.Get("User-Agent") != "accession/1.2.3" || h.Get("Cookie") != "" || h.Get("Accept-Encoding") != "identity" {
			t.Errorf("headers %v", h)
		}
	}
}

func TestDoLimitsReplies(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 11)) })
	cfg := quick()
	cfg.MaxReply = 10
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := local(t, cfg).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if fails(t, err, CodeTooLarge, domain.ClassContent); len(text) != 10 {
		t.Errorf("%d bytes came through", len(text))
	}
}

// Shows: P9
func TestAddressesAreRefused(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	s := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	closed := testClient(t, quick(), nil)
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "169.254.169.254", "[64:ff9b::7f00:1]"} {
		_, err := closed.Head(t.Context(), "http://"+host+":"+port+"/?token=s3cret")
		e := fails(t, err, CodeAddressRefused, domain.ClassContent)
		if strings.Contains(e.Message, "127.") {
			t.Errorf("the address behind a name is told: %s", e)
		}
	}
	// Every exception but the right one.
	other := testClient(t, quick(), nil, "127.0.0.2/32", "10.0.0.0/8", "127.0.0.1:1")
	_, err := other.Head(t.Context(), s.URL)
	fails(t, err, CodeAddressRefused, domain.ClassContent)
	if hits.Load() != 0 {
		t.Fatalf("%d requests arrived", hits.Load())
	}
	if _, err := other.With(Policy{}).Head(t.Context(), s.URL); err == nil {
		t.Error("an empty policy lets loopback through")
	}
}

// Shows: P9
func TestPoliciesDoNotShareConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	c := local(t, quick())
	if _, err := c.Head(t.Context(), s.URL); err != nil {
		t.Fatal(err)
	}
	// The connection of the first request is idle now.
	_, err := c.With(Policy{}).Head(t.Context(), s.URL)
	fails(t, err, CodeAddressRefused, domain.ClassContent)
	if _, err := c.Head(t.Context(), s.URL); err != nil {
		t.Fatal(err)
	}
	if again := c.With(Policy{Allow: c.policy.Allow, MinRate: 5}); again.http != c.http {
		t.Error("the same exceptions open connections of their own")
	}
}

// Shows: P9
func TestRebinding(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		w.Header().Set("Content-Length", "0") // a size that is stated is not asked for again
	})
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	resolver, dns := nameServer(t, map[string][]string{
		"turn.test":  {"127.0.0.9", "127.0.0.1"}, // allowed at first, then not
		"inner.test": {"127.0.0.1"},
		"meta.test":  {"169.254.169.254"},
	})
	use := func(s *shared) { s.resolver = resolver }
	refusing := testClient(t, quick(), use, "127.0.0.9/32")
	// Nothing listens there: allowed, but not reachable.
	_, err := refusing.Head(t.Context(), "http://turn.test:"+port)
	fails(t, err, CodeUnreachable, domain.ClassContent)
	for range 3 {
		_, err = refusing.Head(t.Context(), "http://turn.test:"+port)
		fails(t, err, CodeAddressRefused, domain.ClassContent)
	}
	_, err = refusing.Head(t.Context(), "http://unknown.test:"+port)
	fails(t, err, CodeUnreachable, domain.ClassContent)
	if hits.Load() != 0 {
		t.Fatalf("%d requests arrived", hits.Load())
	}
	if n := dns.questions("turn.test"); n < 4 {
		t.Fatalf("the name was looked up %d times: the test proves nothing", n)
	}

	// An exception by name opens that name and port, not its address, and never
	// the metadata service.
	named := testClient(t, quick(), use, "inner.test:"+port, "meta.test:80")
	if _, err = named.Head(t.Context(), "http://inner.test:"+port); err != nil || hits.Load() != 1 {
		t.Fatalf("%v, %d requests", err, hits.Load())
	}
	for _, url := range []string{s.URL, "http://turn.test:" + port, "http://meta.test"} {
		_, err = named.Head(t.Context(), url)
		fails(t, err, CodeAddressRefused, domain.ClassContent)
	}
}

// TestDoGoesToOneServer: what a request to a service carries is sent nowhere else, also not within
// its host.
// Shows: P9
func TestDoGoesToOneServer(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		to := other.URL
		if r.URL.Path == "/here" {
			to = "/end"
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	})
	c := local(t, quick())
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		for _, path := range []string{"/", "/here"} {
			r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.SetBasicAuth("archive", "s3cret")
			answer, err := c.Do(r)
			if err == nil {
				_ = answer.Body.Close()
			}
			fails(t, err, CodeRedirectRefused, domain.ClassContent)
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("the other server was asked %d times", n)
	}
}

// Shows: P9
func TestRedirects(t *testing.T) {
	t.Parallel()
	var referer atomic.Value
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/end" {
			referer.Store(r.Referer())
			_, _ = io.WriteString(w, "found")
			return
		}
		if r.URL.Path == "/loop" {
			http.Redirect(w, r, "/loop", http.StatusFound)
			return
		}
		w.Header().Set("Location", r.URL.Query().Get("to"))
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	c := local(t, quick())
	body, info, err := c.Get(t.Context(), s.URL+"/?token=s3cret&to=/end%3Fkey=s3cret", GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(body)
	if _ = body.Close(); err != nil || string(text) != "found" || info.FinalURL != s.URL+"/end?..." || referer.Load() != "" {
		t.Fatalf("%q %v, %+v, referer %q", text, err, info, referer.Load())
	}
	for to, code := range map[string]domain.Code{
		"http://169.254.169.254/latest":   CodeAddressRefused,
		"http://127.0.0.2:80/":            CodeAddressRefused,
		"http://[::1]/":                   CodeAddressRefused,
		"http://10.0.0.1/?key=s3cret":     CodeAddressRefused,
		"file:///etc/passwd":              CodeRedirectRefused,
		"gopher://127.0.0.1/":             CodeRedirectRefused,
		"ftp://127.0.0.1/":                CodeRedirectRefused,
		"javascript:alert(1)":             CodeRedirectRefused,
		"http://u:s3cret@127.0.0.1:1/end": CodeRedirectRefused,
		"http:///end":                     CodeRedirectRefused,
		"http://u:s3cret@%zz/":            CodeRedirectRefused,
		"http://h:s3cret/?token=s3cret":   CodeRedirectRefused,
	} {
		_, _, err := c.Get(t.Context(), s.URL+"/?to="+strings.NewReplacer("?", "%3F", "&", "%26", "%", "%25").Replace(to), GetOptions{})
		fails(t, err, code, domain.ClassContent)
	}
	_, err = c.Head(t.Context(), s.URL+"/loop")
	if e := fails(t, err, CodeRedirectRefused, domain.ClassContent); !strings.Contains(e.Error(), "10 times") {
		t.Error(e)
	}
	// A callback's content goes nowhere else, and is not lost as a GET either.
	for _, target := range []string{"/loop", "/?to=/end"} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+target, strings.NewReader("x"))
		_, err = c.Do(req) //nolint:bodyclose // it fails
		fails(t, err, CodeRedirectRefused, domain.ClassContent)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/down" {
			http.Redirect(w, r, plain.URL, http.StatusFound)
		}
	}))
	s.Config.ErrorLog = plain.Config.ErrorLog
	s.StartTLS()
	t.Cleanup(s.Close)
	c := testClient(t, quick(), trust(s), "127.0.0.1/32", "localhost:"+s.URL[strings.LastIndexByte(s.URL, ':')+1:])
	if _, err := c.Head(t.Context(), s.URL); err != nil {
		t.Fatal(err)
	}
	_, err := c.Head(t.Context(), s.URL+"/down")
	fails(t, err, CodeRedirectRefused, domain.ClassContent)
	_, err = local(t, quick()).Head(t.Context(), s.URL) // unknown authority
	if e := fails(t, err, CodeUnreachable, domain.ClassContent); e.Temporary {
		t.Error("a certificate mends itself")
	}
	_, err = c.Head(t.Context(), strings.Replace(s.URL, "127.0.0.1", "localhost", 1)) // not the certificate's name
	if e := fails(t, err, CodeUnreachable, domain.ClassContent); e.Temporary {
		t.Error("a certificate mends itself")
	}
	_, err = c.Head(t.Context(), strings.Replace(plain.URL, "http:", "https:", 1)) // no TLS there
	fails(t, err, CodeUnreachable, domain.ClassContent)
}

func TestNothingListens(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	_ = l.Close()
	_, err = local(t, quick()).Head(t.Context(), url)
	if e := fails(t, err, CodeUnreachable, domain.ClassContent); !e.Temporary {
		t.Error("a server that is down never comes back")
	}
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	wait := hang(t)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_, _ = io.WriteString(w, "begin")
			_ = http.NewResponseController(w).Flush()
		}
		wait(r)
	})
	short := 50 * time.Millisecond
	for _, c := range []struct {
		name   string
		path   string
		change func(*Config, *Policy)
		code   domain.Code
	}{
		{"no header", "/", func(c *Config, _ *Policy) { c.ResponseHeader = short }, CodeTimeout},
		{"whole", "/", func(c *Config, _ *Policy) { c.Transfer = short }, CodeTimeout},
		{"whole of the policy", "/", func(_ *Config, p *Policy) { p.Timeout = short }, CodeTimeout},
		{"body stalls, whole", "/body", func(_ *Config, p *Policy) { p.Timeout = short }, CodeTimeout},
		{"body stalls, rate", "/body", func(c *Config, _ *Policy) { c.RateWindow = short }, CodeTooSlow},
		{"body stalls, rate of the policy", "/body", func(c *Config, p *Policy) { c.MinRate, c.RateWindow, p.MinRate = 1, short, 1000 }, CodeTooSlow},
		{"any rate, whole", "/body", func(c *Config, p *Policy) { c.RateWindow, p.MinRate, p.Timeout = 10*time.Millisecond, -1, short }, CodeTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := quick()
			var p Policy
			c.change(&cfg, &p)
			client := local(t, cfg)
			p.Allow = client.policy.Allow
			err := get(t.Context(), client.With(p), s.URL+c.path, 0)
			if e := fails(t, err, c.code, domain.ClassTimeout); !e.Temporary {
				t.Error("another attempt is ruled out")
			}
		})
	}
	t.Run("exchange", func(t *testing.T) {
		t.Parallel()
		cfg := quick()
		cfg.Exchange = short
		_, err := local(t, cfg).Head(t.Context(), s.URL)
		fails(t, err, CodeTimeout, domain.ClassTimeout)
	})
	t.Run("TLS handshake", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0") // accepts in its backlog, says nothing
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		cfg := quick()
		cfg.TLSHandshake = short
		_, err = local(t, cfg).Head(t.Context(), "https://"+l.Addr().String())
		fails(t, err, CodeTimeout, domain.ClassTimeout)
	})
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 1)
	wait := hang(t)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begin")
		_ = http.NewResponseController(w).Flush()
		arrived <- struct{}{}
		wait(r)
	})
	gone := errors.New("the session is gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-arrived; cancel(gone) }()
	err := get(ctx, local(t, quick()), s.URL, 0)
	if e := fails(t, err, CodeCancelled, domain.ClassCancelled); e.Temporary || !errors.Is(err, gone) {
		t.Errorf("%+v", e)
	}
	late, stop := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer stop()
	_, err = local(t, quick()).Head(late, s.URL)
	if e := fails(t, err, CodeTimeout, domain.ClassTimeout); e.Temporary {
		t.Error("the caller's time is used up, trying again cannot help")
	}
}

// The environment's proxy would connect for us, past every check.
// Shows: P9
func TestNoProxy(t *testing.T) {
	t.Parallel()
	tr, ok := testClient(t, quick(), nil).http.Transport.(*http.Transport)
	if !ok || tr.Proxy != nil || tr.DisableCompression == false {
		t.Errorf("%+v", tr)
	}
}
