package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/accession-ingest/accession/domain"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick are settings whose deadlines a test can wait for.
func quick() Config {
	return Config{
		Version: "1.2.3", Connect: 5 * time.Second, TLSHandshake: 5 * time.Second, ResponseHeader: 5 * time.Second,
		Exchange: 10 * time.Second, Transfer: 10 * time.Second, RateWindow: 5 * time.Second,
	}
}

// testClient returns a client with test hooks, closed with the test.
func testClient(t *testing.T, cfg Config, hooks func(*shared), allow ...string) *Client {
	t.Helper()
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	p, err := ParsePolicy(allow)
	if err != nil {
		t.Fatal(err)
	}
	s := &shared{cfg: cfg.withDefaults()}
	if hooks != nil {
		hooks(s)
	}
	c := newClient(s).With(p)
	t.Cleanup(c.Close)
	return c
}

func local(t *testing.T, cfg Config) *Client { return testClient(t, cfg, nil, "127.0.0.1/32") }

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// hang returns a function that blocks a handler until the test ends, or its client
// has gone.
func hang(t *testing.T) func(*http.Request) {
	t.Helper()
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	return func(r *http.Request) {
		select {
		case <-done:
		case <-r.Context().Done():
		}
	}
}

// trust lets clients accept the certificate of s.
func trust(s *httptest.Server) func(*shared) {
	return func(c *shared) {
		roots := x509.NewCertPool()
		roots.AddCert(s.Certificate())
		c.tls = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
}

// get fetches a file to its end, of at most so many bytes (0 = the settings' limit).
func get(ctx context.Context, c *Client, url string, most int64) error {
	body, _, err := c.Get(ctx, url, GetOptions{MaxBytes: most})
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(io.Discard, body)
	return err
}

// fails demands an *Error with code and class, and that it shows no secret.
func fails(t *testing.T, err error, code domain.Code, class domain.Class) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want code %s", err, err, code)
	}
	if e.Code != code || e.Class != class || e.Message == "" {
		t.Fatalf("error %s/%s %q (cause %v), want %s/%s", e.Class, e.Code, e, e.cause, class, code)
	}
	if strings.Contains(e.Error(), "s3cret") || strings.Contains(fmt.Sprint(errors.Unwrap(e)), "s3cret") {
		t.Fatalf("a secret is shown: %s, cause %v", e, errors.Unwrap(e))
	}
	r := e.Reason()
	if r.Code != code || r.Class != class || r.Message != e.Error() || r.Host != Host(e.URL) || strings.Contains(r.Host, "s3cret") {
		t.Fatalf("reason %+v", r)
	}
	return e
}

// names is a DNS server on loopback: it answers each question about a name with
// the next of its addresses, the last one again and again; without any it fails.
type names struct {
	mu      sync.Mutex
	answers map[string][]string
	asked   map[string]int
}

func nameServer(t *testing.T, answers map[string][]string) (*net.Resolver, *names) {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &names{answers: answers, asked: map[string]int{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(n.answer(buf[:size]), from)
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp4", conn.LocalAddr().String())
	}}, n
}

func (n *names) questions(name string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[name]
}

func (n *names) answer(q []byte) []byte {
	var labels []string
	i := 12
	for q[i] != 0 {
		labels = append(labels, string(q[i+1:i+1+int(q[i])]))
		i += 1 + int(q[i])
	}
	question := q[12 : i+5]
	kind := binary.BigEndian.Uint16(q[i+1:])
	name := strings.ToLower(strings.Join(labels, "."))

	n.mu.Lock()
	defer n.mu.Unlock()
	list, known := n.answers[name]
	out := append([]byte{}, q[:2]...)
	if known && len(list) == 0 {
		out = append(out, 0x81, 0x82, 0, 1, 0, 0, 0, 0, 0, 0) // the server has failed
		return append(out, question...)
	}
	if !known {
		out = append(out, 0x81, 0x83, 0, 1, 0, 0, 0, 0, 0, 0) // no such name
		return append(out, question...)
	}
	if kind != 1 {
		out = append(out, 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0) // no address of this kind
		return append(out, question...)
	}
	addr := netip.MustParseAddr(list[min(n.asked[name], len(list)-1)]).As4()
	n.asked[name]++
	out = append(out, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0)
	out = append(out, question...)
	out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
	return append(out, addr[:]...)
}
