package openid

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Bounds of requests to a provider.
const (
	requestTime = 10 * time.Second // for one request as a whole
	maxAnswer   = 1 << 20
	maxConns    = 16 // at once; further requests wait, within their time
)

// Protected reports whether what is sent to an address is protected on its way: by TLS, or because
// it does not leave this machine.
func Protected(u *url.URL) bool {
	ip, err := netip.ParseAddr(u.Hostname())
	own := err == nil && ip.IsLoopback() || u.Hostname() == "localhost" || strings.HasSuffix(u.Hostname(), ".localhost")
	return u.Scheme == "https" || u.Scheme == "http" && own
}

// transport carries requests to the provider, all of a process.
var transport = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: requestTime, MaxConnsPerHost: maxConns,
	IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10}

// client returns what sends the requests: it follows no redirect, sends nothing that is not
// protected, and reads no more than it must.
func (p *Provider) client() *http.Client {
	return &http.Client{Transport: bounded{}, Timeout: cmp.Or(p.timeout, requestTime), CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		return fmt.Errorf("it leads to another address, %q: the settings and its configuration must have the last one", r.URL.Host)
	}}
}

// bounded sends requests within bounds.
type bounded struct{}

// RoundTrip implements http.RoundTripper.
func (bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if !Protected(r.URL) {
		return nil, fmt.Errorf("%s has no TLS", r.URL.Host)
	}
	a, err := transport.RoundTrip(r)
	if err == nil {
		a.Body = &body{a.Body, maxAnswer}
	}
	return a, err
}

// body is that of an answer, of which no more than a number of bytes is read.
type body struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (n int, err error) {
	if b.left <= 0 {
		return 0, errors.New("the answer is too long")
	}
	n, err = b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
