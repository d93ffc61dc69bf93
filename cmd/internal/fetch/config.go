package fetch

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Config are the settings of a Client. The zero value of each field means its
// default.
type Config struct {
	// Version is sent as User-Agent "accession/<version>": letters, digits and
	// .+-_ only. Default "dev".
	Version string

	// Connect limits resolving the name and connecting. 10ms to 5m, default 10s.
	Connect time.Duration
	// TLSHandshake limits the handshake. 10ms to 5m, default 10s.
	TLSHandshake time.Duration
	// ResponseHeader limits the wait for the answer's header. 10ms to 30m, default 30s.
	ResponseHeader time.Duration
	// Head limits a whole HEAD request, and that for the first byte in its stead. 10ms to 5m, default 10s.
	Head time.Duration
	// Exchange limits a whole request made with Do. 10ms to 1h, default 30s.
	Exchange time.Duration
	// Transfer limits a whole GET, body included, where the Policy has no Timeout.
	// 10ms to 168h, default 12h.
	Transfer time.Duration

	// MinRate is the rate in bytes per second that a body must keep over each
	// RateWindow, where the Policy has none. 1 to 1 GiB, default 16 KiB.
	MinRate int64
	// RateWindow is the time over which the rate is measured, and so the longest
	// that a server may be silent. 10ms to 10m, default 30s.
	RateWindow time.Duration

	// Bandwidth is how many bytes per second the bodies of all answers together take. 0 to 1 TiB,
	// default 0 = as many as come. The wait for it does not count for MinRate, but for the limits
	// of a whole request.
	Bandwidth int64

	// MaxBytes is the largest body that GET accepts. 1 to 1 EiB, default 1 TiB.
	MaxBytes int64
	// MaxReply is the largest body that Do accepts, in bytes. 1 to 64 MiB, default 1 MiB.
	MaxReply int64
	// MaxRedirects is how many redirects are followed. 1 to 20, default 10.
	MaxRedirects int

	// Buckets is the service that has the objects of s3:// URLs.
	Buckets Buckets
	// SFTP is what servers of SFTP are reached with.
	SFTP SFTP
}

func (c Config) withDefaults() Config {
	return Config{
		Version: cmp.Or(c.Version, "dev"), Connect: cmp.Or(c.Connect, 10*time.Second), TLSHandshake: cmp.Or(c.TLSHandshake, 10*time.Second),
		ResponseHeader: cmp.Or(c.ResponseHeader, 30*time.Second), Head: cmp.Or(c.Head, 10*time.Second), Exchange: cmp.Or(c.Exchange, 30*time.Second),
		Transfer: cmp.Or(c.Transfer, 12*time.Hour), Bandwidth: c.Bandwidth,
		MinRate: cmp.Or(c.MinRate, 16<<10), RateWindow: cmp.Or(c.RateWindow, 30*time.Second),
		MaxBytes: cmp.Or(c.MaxBytes, 1<<40), MaxReply: cmp.Or(c.MaxReply, 1<<20), MaxRedirects: cmp.Or(c.MaxRedirects, 10), Buckets: c.Buckets, SFTP: c.SFTP,
	}
}

// tokens are the characters of a version.
const tokens = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-_"

// Validate returns an error that names every field that is out of bounds.
func (c Config) Validate() error {
	c = c.withDefaults()
	var faults []error
	bad := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("fetch: "+format, args...))
	}
	if other := strings.Trim(c.Version, tokens); other != "" {
		bad("version %q holds %q; use letters, digits and .+-_", c.Version, other)
	}
	const least = 10 * time.Millisecond
	for _, d := range []struct {
		name  string
		value time.Duration
		most  time.Duration
	}{
		{"connect", c.Connect, 5 * time.Minute},
		{"TLS handshake", c.TLSHandshake, 5 * time.Minute},
		{"response header", c.ResponseHeader, 30 * time.Minute},
		{"HEAD", c.Head, 5 * time.Minute},
		{"exchange", c.Exchange, time.Hour},
		{"transfer", c.Transfer, 168 * time.Hour},
		{"rate window", c.RateWindow, 10 * time.Minute},
	} {
		if d.value < least || d.value > d.most {
			bad("the %s limit %s is out of bounds; use %s to %s", d.name, d.value, least, d.most)
		}
	}
	for _, n := range []struct {
		name        string
		value, most int64
	}{
		{"minimum rate", c.MinRate, 1 << 30},
		{"maximum of bytes", c.MaxBytes, 1 << 60},
		{"maximum of a reply's bytes", c.MaxReply, 64 << 20},
		{"maximum of redirects", int64(c.MaxRedirects), 20},
	} {
		if n.value < 1 || n.value > n.most {
			bad("the %s %d is out of bounds; use 1 to %d", n.name, n.value, n.most)
		}
	}
	if c.Bandwidth < 0 || c.Bandwidth > 1<<40 {
		bad("the bandwidth %d is out of bounds; use 0 to %d", c.Bandwidth, int64(1)<<40)
	}
	return errors.Join(faults...)
}
