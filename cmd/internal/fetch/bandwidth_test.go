package fetch

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
)

// TestBandwidth: all transfers of a process together take no more bytes per second than they may,
// whatever collections they are for.
func TestBandwidth(t *testing.T) {
	t.Parallel()
	const each, perSecond = 160 << 10, 256 << 10
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, each)) })
	cfg := quick()
	cfg.Bandwidth, cfg.Transfer, cfg.RateWindow, cfg.ResponseHeader = perSecond, time.Minute, time.Minute, time.Minute
	c := local(t, cfg)
	other := c.policy
	other.Allow = append(other.Allow[:len(other.Allow):len(other.Allow)], Exception{Host: "files.example.org", Port: 80})
	begun := time.Now()
	var g errgroup.Group
	for _, c := range []*Client{c, c.With(other)} {
		g.Go(func() error {
			body, _, err := c.Get(t.Context(), s.URL, GetOptions{})
			if err != nil {
				return err
			}
			n, err := io.Copy(io.Discard, body)
			if n != each {
				t.Errorf("%d bytes came", n)
			}
			return errors.Join(err, body.Close())
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if least := time.Duration(2*each-burst) * time.Second / perSecond; time.Since(begun) < least {
		t.Errorf("it took %s, and at least %s was to be waited", time.Since(begun), least)
	}
}

// TestBandwidthKeepsTheDeadline: a request that would have to wait for longer than it may take ends
// as one that takes too long, and can be tried again.
func TestBandwidthKeepsTheDeadline(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 4*burst)) })
	cfg := quick()
	cfg.Bandwidth, cfg.Transfer = 1, 200*time.Millisecond
	err := get(t.Context(), local(t, cfg), s.URL, 1<<20)
	if e := fails(t, err, CodeTimeout, domain.ClassTimeout); !e.Temporary {
		t.Errorf("%+v", e)
	}
	cfg.Bandwidth = -1
	if _, err := NewClient(cfg); err == nil {
		t.Error("a bandwidth of -1 is taken")
	}
}
