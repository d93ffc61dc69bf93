package httpapi

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/accession-ingest/accession/domain/access"
)

// patience is how long a test waits for what must come.
const patience = 25 * time.Second

// headers and idles are how long clients may take for a header, and do nothing.
const headers, idles = 2 * time.Second, 3 * time.Second

// listening returns the address of a server whose clients have little time, with its own routes
// or with those of a test, and what is closed when the first connection has ended.
func listening(t *testing.T, routes map[string]http.HandlerFunc) (address string, ended <-chan struct{}) {
	t.Helper()
	return listeningBy(t, "", routes)
}

// listeningBy is listening with TLS, if there is a directory for the certificate.
func listeningBy(t *testing.T, tlsDir string, routes map[string]http.HandlerFunc) (address string, ended <-chan struct{}) {
	t.Helper()
	s := &Server{People: oneKey{access.Caller{Name: "ana"}}, Version: "test", Log: slog.New(slog.DiscardHandler), body: 300 * time.Millisecond, receive: 300 * time.Millisecond,
		header: headers, idle: idles}
	if tlsDir != "" {
		c := &certificate{cert: filepath.Join(tlsDir, "cert.pem"), key: filepath.Join(tlsDir, "key.pem"), log: s.Log}
		writeCertificate(t, c, 1, time.Now())
		s.Certificate, s.Key = c.cert, c.key
	}
	h := s.Handler()
	if routes != nil {
		mux := http.NewServeMux()
		for pattern, f := range routes {
			mux.HandleFunc(pattern, f)
		}
		h = s.behind(mux)
	}
	l, err := s.listen(t.Context(), "127.0.0.1:0", h)
	if err != nil {
		t.Fatal(err)
	}
	closed, begun := make(chan struct{}), l.srv.ConnState
	end := sync.OnceFunc(func() { close(closed) })
	l.srv.ConnState = func(c net.Conn, is http.ConnState) {
		if begun(c, is); is == http.StateClosed {
			end()
		}
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	stopped := make(chan error, 1)
	go func() { stopped <- l.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	return l.Address(), closed
}

// dial opens a connection that ends with the test.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err == nil {
		err = c.SetDeadline(time.Now().Add(patience))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestBodyThatDoesNotCome: a request whose body is announced and does not come is answered, and
// its connection ended, whether or not its caller is known and a handler reads the body.
func TestBodyThatDoesNotCome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		request string
		status  int
	}{
		{"POST /v1/uploads HTTP/1.1\r\nContent-Length: 100", 401},
		{"POST /v1/uploads HTTP/1.1\r\nTransfer-Encoding: chunked", 401},
		{"GET /v1/nothing HTTP/1.1\r\nContent-Length: 100", 404},
		{"PUT /v1/batches HTTP/1.1\r\nContent-Length: 100", 405},
		{"GET /v1/openapi.json HTTP/1.1\r\nContent-Length: 100", 200},
		{"POST /object/ingest HTTP/1.1\r\nContent-Length: 100", 401},
		{"POST /v1/submissions HTTP/1.1\r\nContent-Length: 100\r\nContent-Type: application/json\r\nAuthorization: Bearer good", 408},
		{"POST /v1/submissions HTTP/1.1\r\nContent-Length: 100\r\nExpect: nothing", 417},
		{"OPTIONS * HTTP/1.1\r\nContent-Length: 100", 200},
	} {
		t.Run(c.request, func(t *testing.T) {
			t.Parallel()
			address, _ := listening(t, nil)
			conn := dial(t, address)
			if _, err := io.WriteString(conn, c.request+"\r\nHost: a\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(answer), fmt.Sprintf("HTTP/1.1 %d ", c.status)) {
				t.Errorf("%.100q (%v), want %d, and the end of the connection", answer, err, c.status)
			}
		})
	}
}

// TestClientThatReceivesNothing: its connection is ended, however an answer is sent.
func TestClientThatReceivesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		send    func(w http.ResponseWriter) error
		request string
	}{
		"one answer": {func(w http.ResponseWriter) error {
			_, err := w.Write(make([]byte, 64<<20))
			return err
		}, "GET /v1/much HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good\r\n\r\n"},
		"a stream": {func(w http.ResponseWriter) error {
			for {
				_, err := w.Write(make([]byte, 1<<10)) // which is kept until it is flushed
				if err := errors.Join(err, http.NewResponseController(w).Flush()); err != nil {
					return err
				}
			}
		}, "GET /v1/much HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good\r\n\r\n"},
		"many small answers": {nil, strings.Repeat("GET /v1/nothing HTTP/1.1\r\nHost: a\r\n\r\n", 100)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failed := make(chan error, 1)
			address, ended := listening(t, map[string]http.HandlerFunc{"GET /v1/much": func(w http.ResponseWriter, _ *http.Request) { failed <- c.send(w) }})
			conn := dial(t, address)
			sending := make(chan struct{})
			go func() {
				defer close(sending)
				for {
					if _, err := io.WriteString(conn, c.request); err != nil || c.send != nil {
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
			<-sending
			if c.send != nil && <-failed == nil {
				t.Error("all was sent")
			}
		})
	}
}

// TestWorkAfterTheBody: what follows a body, or needs none, may take longer than a body may.
func TestWorkAfterTheBody(t *testing.T) {
	t.Parallel()
	const little, more = 50 * time.Millisecond, 700 * time.Millisecond
	work := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(more):
			return nil
		}
	}
	read := make(chan struct{})
	answer := func(until func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if err := errors.Join(until(w, r), work(r.Context())); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		}
	}
	deadline := func(w http.ResponseWriter) error {
		return http.NewResponseController(w).SetReadDeadline(time.Now().Add(little))
	}
	library := http.NewServeMux()
	huma.Register(humago.New(library, huma.DefaultConfig("test", "1")), huma.Operation{Method: http.MethodPost, Path: "/v1/json", BodyReadTimeout: little},
		func(ctx context.Context, _ *struct{ Body struct{} }) (*struct{}, error) { return nil, work(ctx) })
	address, _ := listening(t, map[string]http.HandlerFunc{
		"POST /v1/json": library.ServeHTTP,
		"GET /v1/none":  answer(func(http.ResponseWriter, *http.Request) error { return nil }),
		"POST /v1/file": answer(func(w http.ResponseWriter, r *http.Request) error {
			err := deadline(w)
			_, failed := io.Copy(io.Discard, r.Body)
			return errors.Join(err, failed)
		}),
		"POST /v1/pieces": answer(func(w http.ResponseWriter, r *http.Request) error {
			_, err := io.Copy(io.Discard, r.Body)
			return errors.Join(err, deadline(w)) // as a library that sets it after each piece
		}),
		"POST /v1/form": answer(func(w http.ResponseWriter, r *http.Request) error { // whose end nothing reads
			err := deadline(w)
			_, failed := io.ReadFull(r.Body, make([]byte, 5))
			close(read)
			return errors.Join(err, failed)
		}),
	})
	for _, c := range []struct {
		request, body, end string
	}{
		{"GET /v1/none HTTP/1.1", "", ""},
		{"POST /v1/json HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2", "{}", ""},
		{"POST /v1/file HTTP/1.1\r\nContent-Length: 5", "hello", ""},
		{"POST /v1/pieces HTTP/1.1\r\nContent-Length: 5", "hello", ""},
		{"POST /v1/form HTTP/1.1\r\nTransfer-Encoding: chunked", "5\r\nhello\r\n", "0\r\n\r\n"},
	} {
		t.Run(c.request, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, address)
			if _, err := io.WriteString(conn, c.request+"\r\nHost: a\r\nAuthorization: Bearer good\r\n\r\n"+c.body); err != nil {
				t.Fatal(err)
			}
			if c.end != "" {
				<-read
				if _, err := io.WriteString(conn, c.end); err != nil {
					t.Fatal(err)
				}
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode >= 300 || res.Close {
				t.Errorf("%d %s (%v), the connection ends: %v", res.StatusCode, text, err, res.Close)
			}
		})
	}
}

// TestPauseOverHTTP2: an answer that pauses for longer than a client may take is not ended, also
// where the library ends at a deadline all of a request, and not only what is being sent.
func TestPauseOverHTTP2(t *testing.T) {
	t.Parallel()
	address, _ := listeningBy(t, t.TempDir(), map[string]http.HandlerFunc{"POST /v1/paused": func(w http.ResponseWriter, r *http.Request) {
		for _, part := range []string{"one", "two"} {
			_, err := io.WriteString(w, part)
			if err := errors.Join(err, http.NewResponseController(w).Flush()); err != nil {
				t.Error(err)
			}
			select {
			case <-r.Context().Done():
				t.Error(r.Context().Err())
			case <-time.After(700 * time.Millisecond):
			}
		}
	}})
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the certificate is of the test
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+address+"/v1/paused", strings.NewReader("a body that is not read"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer good")
	res, err := (&http.Client{Transport: transport, Timeout: patience}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || string(text) != "onetwo" || res.ProtoMajor != 2 {
		t.Errorf("%s: %q (%v)", res.Proto, text, err)
	}
}
