package fetch

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/accession-ingest/accession/domain"
)

// Client makes requests under one Policy. It is safe for concurrent use. Clients
// made by With share their settings, and their connections where the policies
// have the same exceptions.
type Client struct {
	*shared
	policy Policy
	http   *http.Client
}

// shared is what all clients of one NewClient have in common.
type shared struct {
	cfg      Config
	resolver *net.Resolver // nil = the system's
	tls      *tls.Config   // nil = the system's roots
	limit    *rate.Limiter // of the bytes of all bodies, nil = none

	mu    sync.Mutex
	byKey map[string]*http.Client
}

// NewClient returns a client whose policy has no exceptions. The error names every
// field of the settings that is out of bounds.
func NewClient(cfg Config) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return newClient(&shared{cfg: cfg.withDefaults()}), nil
}

func newClient(s *shared) *Client {
	s.byKey, s.limit = make(map[string]*http.Client), newBandwidth(s.cfg.Bandwidth)
	return (&Client{shared: s}).With(Policy{})
}

// With returns a client for the requests of one collection.
func (c *Client) With(p Policy) *Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := c.byKey[p.key()]
	if !ok {
		h = c.open(p)
		c.byKey[p.key()] = h
	}
	return &Client{shared: c.shared, policy: p, http: h}
}

// Close closes the connections that no request uses, of this client and all that
// share with it. It may be used again afterwards.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.byKey {
		h.CloseIdleConnections()
	}
}

// open returns the client of all policies with p's exceptions: a connection that
// one collection may use is never handed to another.
func (s *shared) open(p Policy) *http.Client {
	dialer := net.Dialer{Timeout: s.cfg.Connect, Resolver: s.resolver, Control: p.control(false)}
	named := dialer
	named.Control = p.control(true)
	transport := &http.Transport{
		Proxy: nil, // a proxy of the environment would connect for us, unchecked
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if p.opensName(address) {
				return named.DialContext(ctx, network, address)
			}
			return dialer.DialContext(ctx, network, address)
		},
		TLSClientConfig:        s.tls,
		TLSHandshakeTimeout:    s.cfg.TLSHandshake,
		ResponseHeaderTimeout:  s.cfg.ResponseHeader,
		MaxResponseHeaderBytes: 256 << 10,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // digests are of the bytes as they are kept
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        30 * time.Second,
	}
	transport.RegisterProtocol(schemeFile, files{p})
	transport.RegisterProtocol(schemeSFTP, servers{s, p, named.DialContext})
	return &http.Client{CheckRedirect: s.checkRedirect, Transport: transport}
}

// checkRedirect decides whether a redirect is followed; its address is checked
// when it is connected to.
func (s *shared) checkRedirect(next *http.Request, via []*http.Request) error {
	last := via[len(via)-1]
	refuse := func(format string, args ...any) error {
		return content(CodeRedirectRefused, Redact(via[0].URL.String()), "give the address of the file itself", format, args...)
	}
	if next.Context().Value(direct{}) != nil || last.Method != http.MethodGet && last.Method != http.MethodHead {
		return refuse("the server redirects a %s request to %s, where its content is not meant to go", last.Method, Redact(next.URL.String()))
	}
	if len(via) > s.cfg.MaxRedirects {
		return refuse("the server redirects more than %d times", s.cfg.MaxRedirects)
	}
	if bad := vet(next.URL); bad != nil {
		return refuse("the server redirects to %s: %s", bad.URL, bad.Message)
	}
	if last.URL.Scheme == "https" && next.URL.Scheme == "http" {
		return refuse("the server redirects from https to http")
	}
	next.Header.Del("Referer") // it would show the query to the next host
	return nil
}

// direct marks requests that are for one server only: what they carry is not meant for others.
type direct struct{}

// Do makes a request of any method and returns the answer whatever its status. The
// caller closes its body. A redirect is an error. The whole exchange
// is limited by Config.Exchange, the body by Config.MaxReply. Every error, also
// those of reading the body, is an *Error.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	u, bad := checkURL(req.URL.String())
	if bad != nil {
		return nil, bad
	}
	return c.do(req.WithContext(context.WithValue(req.Context(), direct{}, true)), u, c.cfg.Exchange, c.cfg.MaxReply)
}

// do makes a request to u, which was checked, within a time and a number of bytes.
func (c *Client) do(req *http.Request, u *url.URL, whole time.Duration, limit int64) (*http.Response, error) {
	shown := Redact(u.String())
	ctx, stop := context.WithTimeoutCause(req.Context(), whole, errDeadline)
	ctx, cancel := context.WithCancelCause(ctx)
	end := func(cause error) { cancel(cause); stop() }
	req = req.Clone(ctx)
	req.URL = u
	if req.Header == nil {
		req.Header = make(http.Header)
	}
	req.Header.Set("User-Agent", "accession/"+c.cfg.Version)
	req.Header.Set("Accept-Encoding", "identity")
	//nolint:bodyclose // closed by the body that wraps it
	resp, err := c.http.Do(req)
	if err != nil {
		failure := classify(ctx, shown, err)
		end(nil)
		return nil, failure
	}
	resp.Body = &body{
		Reader: within(ctx, newPace(resp.Body, c.minRate(), c.cfg.RateWindow, func() { cancel(errTooSlow) }), c.limit),
		source: resp.Body, ctx: ctx, end: end, shown: shown, left: limit, limit: limit,
	}
	return resp, nil
}

func (c *Client) minRate() int64 {
	if c.policy.MinRate != 0 {
		return max(c.policy.MinRate, 0)
	}
	return c.cfg.MinRate
}

func tooLarge(shown string, limit int64) *Error {
	return content(CodeTooLarge, shown, "split the file, or let an operator raise the limit", "it is larger than the %d bytes that are allowed", limit)
}

// body is an answer's body with all limits on it.
type body struct {
	io.Reader
	source      io.Closer
	ctx         context.Context
	end         func(error)
	shown       string
	left, limit int64
	failed      *Error // sticky
}

// Read implements io.Reader; every error but io.EOF is an *Error.
func (b *body) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	// One byte more than allowed tells a body that fits from one that does not.
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.Reader.Read(p)
	if int64(n) > b.left {
		b.failed = tooLarge(b.shown, b.limit)
		return int(b.left), b.failed
	}
	b.left -= int64(n)
	if err != nil && err != io.EOF {
		b.failed = classify(b.ctx, b.shown, err)
		if b.failed.Code == CodeUnreachable && b.failed.Class == domain.ClassContent {
			b.failed.Message = fmt.Sprintf("the connection broke after %d bytes", b.limit-b.left)
		}
		return n, b.failed
	}
	return n, err
}

// Close frees the connection, or ends it when the body was not read to its end.
func (b *body) Close() error {
	err := b.source.Close()
	b.end(nil)
	return err
}
