package httpapi

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// The types and flags of frames, by RFC 9113.
const (
	frameHeaders, frameReset, frameSettings, frameWindow, frameContinuation = 1, 3, 4, 8, 9
	endStream, endHeaders                                                   = 1, 4
	greeting                                                                = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// frame returns a frame.
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	b = append(b, flags)
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// window returns the settings of a client that takes so many bytes of each answer.
func window(size uint32) []byte {
	return frame(frameSettings, 0, 0, binary.BigEndian.AppendUint32([]byte{0, 4}, size))
}

// fieldsOf returns the fields of a header, none of them compressed.
func fieldsOf(pairs ...string) (b []byte) {
	for i := 0; i < len(pairs); i += 2 {
		b = append(b, 0)
		for _, text := range pairs[i : i+2] {
			b = append(append(b, byte(len(text))), text...)
		}
	}
	return b
}

// asked returns the header of a request whose caller is known.
func asked(method, path string) []byte {
	return fieldsOf(":method", method, ":scheme", "https", ":authority", "a", ":path", path, "authorization", "Bearer good")
}

// over2 opens a connection that speaks HTTP/2 and has sent what it is given.
func over2(t *testing.T, address string, sends ...[]byte) net.Conn {
	t.Helper()
	conn := tls.Client(dial(t, address), &tls.Config{NextProtos: []string{"h2"}, InsecureSkipVerify: true}) //nolint:gosec // the certificate is of the test
	for _, b := range append([][]byte{[]byte(greeting)}, sends...) {
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if is := conn.ConnectionState().NegotiatedProtocol; is != "h2" {
		t.Fatalf("it speaks %q", is)
	}
	return conn
}

// until reads frames until one of a kind about a stream; false = the connection ended before.
func until(conn net.Conn, kind byte, stream uint32) bool {
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(conn, head); err != nil {
			return false
		}
		if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(head)>>8)); err != nil {
			return false
		}
		if head[3] == kind && binary.BigEndian.Uint32(head[5:]) == stream {
			return true
		}
	}
}

// TestSlowClientsOverHTTP2: a client over HTTP/2 that does not send the rest of a header, sends
// no body, opens no window, or takes nothing, keeps neither a handler nor a connection.
func TestSlowClientsOverHTTP2(t *testing.T) {
	t.Parallel()
	failed := func() (chan error, map[string]http.HandlerFunc) {
		errs := make(chan error, 1)
		return errs, map[string]http.HandlerFunc{
			"GET /v1/much": func(w http.ResponseWriter, _ *http.Request) {
				_, err := w.Write(make([]byte, 64<<20))
				errs <- err
			},
			"POST /v1/read": func(_ http.ResponseWriter, r *http.Request) {
				_, err := io.ReadAll(r.Body)
				errs <- err
			},
		}
	}
	is := func(t *testing.T, what string, errs <-chan error) {
		t.Helper()
		select {
		case err := <-errs:
			if err == nil {
				t.Errorf("%s is taken for whole", what)
			}
		case <-time.After(patience):
			t.Errorf("%s is still waited for", what)
		}
	}
	ends := func(t *testing.T, ended <-chan struct{}) {
		t.Helper()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Error("the connection is still open")
		}
	}
	t.Run("the rest of a header", func(t *testing.T) {
		t.Parallel()
		address, ended := listeningBy(t, t.TempDir(), nil)
		over2(t, address, window(1<<16), frame(frameHeaders, endStream, 1, fieldsOf(":method", "GET")), frame(frameContinuation, 0, 1, fieldsOf(":path", "/")))
		ends(t, ended)
	})
	t.Run("a greeting", func(t *testing.T) {
		t.Parallel()
		address, ended := listeningBy(t, t.TempDir(), nil)
		over2(t, address)
		ends(t, ended)
	})
	t.Run("a body", func(t *testing.T) {
		t.Parallel()
		errs, routes := failed()
		address, ended := listeningBy(t, t.TempDir(), routes)
		conn := over2(t, address, window(1<<16), frame(frameHeaders, endHeaders, 1, asked("POST", "/v1/read")))
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		is(t, "the body", errs)
		ends(t, ended)
	})
	t.Run("no window", func(t *testing.T) {
		t.Parallel()
		errs, routes := failed()
		address, _ := listeningBy(t, t.TempDir(), routes)
		conn := over2(t, address, window(0), frame(frameHeaders, endHeaders|endStream, 1, asked("GET", "/v1/much")))
		if !until(conn, frameReset, 1) {
			t.Error("the answer is not ended")
		}
		is(t, "the answer", errs)
	})
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		errs, routes := failed()
		address, ended := listeningBy(t, t.TempDir(), routes)
		over2(t, address, window(1<<31-1), frame(frameWindow, 0, 0, binary.BigEndian.AppendUint32(nil, 1<<30)), frame(frameHeaders, endHeaders|endStream, 1, asked("GET", "/v1/much")))
		is(t, "the answer", errs)
		ends(t, ended)
	})
}
