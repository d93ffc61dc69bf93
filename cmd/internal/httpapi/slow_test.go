package httpapi

import (
	"bufio"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestSlowClients: a client over HTTP/1 that sends no head, a half one or one line after the
// other, that greets by TLS with nothing or a part, or that asks no further, keeps no connection.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	const whole, half = "GET /v1/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n", "GET /v1/openapi.json HTTP/1.1\r\nHost: a\r\nAccept: text"
	const line = "X-More: and more\r\n"
	for what, c := range map[string]struct {
		tls, greets bool   // it listens by TLS; the client greets
		first, then string // requests: one that is answered, and what follows
		drips       string // what is then sent again and again
	}{
		"no head":                         {},
		"a byte":                          {then: "G"},
		"half a head":                     {then: half},
		"a head that does not end":        {then: half, drips: line},
		"nothing after an answer":         {first: whole},
		"half a head after an answer":     {first: whole, then: half},
		"a drip of lines after an answer": {first: whole, then: half, drips: line},
		"no greeting":                     {tls: true},
		"half a greeting":                 {tls: true, then: "\x16\x03\x01\x02\x00\x01"},
		"a greeting alone":                {tls: true, greets: true},
		"half a head by TLS":              {tls: true, greets: true, then: half},
		"nothing after an answer by TLS":  {tls: true, greets: true, first: whole},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := ""
			if c.tls {
				dir = t.TempDir()
			}
			var conn net.Conn
			var ended <-chan struct{}
			for tries := 0; conn == nil; tries++ { // once more if a busy machine was slower than a client may be
				var address string
				address, ended = listeningBy(t, dir, nil)
				if conn = begins(t, dial(t, address), c.greets, c.first); conn == nil && tries == 5 {
					t.Fatal("no request is answered")
				}
			}
			if _, err := io.WriteString(conn, c.then); err != nil {
				t.Log(err) // it has ended already
			}
			dripped := make(chan struct{})
			go func() {
				defer close(dripped)
				for c.drips != "" {
					select {
					case <-ended:
						return
					case <-time.After(headers / 10):
					}
					if _, err := io.WriteString(conn, c.drips); err != nil {
						return
					}
				}
			}()
			select {
			case <-ended:
			case <-time.After(patience):
				t.Error("the connection is still open")
			}
			_ = conn.Close()
			<-dripped
		})
	}
}

// begins greets by TLS, if that is asked for, and sends a request, if there is one, after whose
// answer the connection stays. It returns the connection, nil if the server has ended it before.
func begins(t *testing.T, conn net.Conn, greets bool, request string) net.Conn {
	t.Helper()
	if greets {
		secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}) //nolint:gosec // the certificate is of the test
		if err := secure.HandshakeContext(t.Context()); err != nil {
			t.Log(err)
			return nil
		}
		conn = secure
	}
	if request == "" {
		return conn
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Log(err)
		return nil
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Log(err)
		return nil
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK || res.Close {
		t.Fatalf("%d (%v), the connection ends: %v", res.StatusCode, err, res.Close)
	}
	return conn
}

// TestEveryPhaseHasADeadline: a server of which nothing is set ends every phase of a connection:
// the greeting and the head, the body, the work, each piece of the answer, and the silence until
// the next request. Other tests show with shorter times that each phase ends.
func TestEveryPhaseHasADeadline(t *testing.T) {
	t.Parallel()
	l, err := (&Server{Log: slog.New(slog.DiscardHandler)}).listen(t.Context(), "127.0.0.1:0", http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.l.Close(); err != nil {
		t.Error(err)
	}
	for phase, is := range map[string]time.Duration{
		"greeting and head": l.srv.ReadHeaderTimeout, "silence": l.srv.IdleTimeout, "piece over HTTP/2": l.srv.HTTP2.WriteByteTimeout,
		"body": bodyTime, "piece": receiveTime, "work": workTime, "end": stopTime,
	} {
		if is < time.Second || is > 10*time.Minute {
			t.Errorf("%s: %s", phase, is)
		}
	}
	if l.srv.ConnState == nil {
		t.Error("what the library refuses by itself has no deadline")
	}
}
