package httpapi

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// piece is how many bytes of an answer its client has to receive at a time.
const piece = 32 << 10

// sent is an answer. It notes the status that was sent, and keeps the deadlines of the
// request: a client has so long to receive each piece, and to send what no handler has read
// of the body, which the library reads before it answers.
type sent struct {
	http.ResponseWriter
	status        int
	body, receive time.Duration
	arrived       atomic.Bool // the body is whole, or there is none
}

// WriteHeader implements http.ResponseWriter.
func (s *sent) WriteHeader(status int) {
	if s.status == 0 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (s *sent) Write(p []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	defer s.rest()
	for n := 0; ; {
		s.hurry()
		m, err := s.ResponseWriter.Write(p[n:min(len(p), n+piece)])
		if n += m; err != nil || n >= len(p) {
			return n, err
		}
	}
}

// FlushError sends what was written.
func (s *sent) FlushError() error {
	s.hurry()
	defer s.rest()
	return s.control().Flush()
}

// Unwrap makes other things of the library's answer work.
func (s *sent) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *sent) control() *http.ResponseController {
	return http.NewResponseController(s.ResponseWriter)
}

// hurry begins the time in which the client has to receive what is sent next. The library first
// reads what is left of the body.
func (s *sent) hurry() {
	end := time.Now()
	if !s.arrived.Load() {
		end = end.Add(s.body)
		_ = s.SetReadDeadline(end) // it has none, or has gone
	}
	_ = s.control().SetWriteDeadline(end.Add(s.receive))
}

// rest ends it: what the service does until the next piece may take long.
func (s *sent) rest() {
	_ = s.control().SetWriteDeadline(time.Time{}) // it has none, or has gone
	_ = s.SetReadDeadline(time.Time{})
}

// SetReadDeadline sets until when the next bytes of the body must come. When it is whole
// there are none: a deadline would then end the request, since the library waits for the
// client to go.
func (s *sent) SetReadDeadline(t time.Time) error {
	if s.arrived.Load() {
		return nil
	}
	return s.control().SetReadDeadline(t)
}

// SetWriteDeadline leaves the deadline of each piece as it is.
func (*sent) SetWriteDeadline(time.Time) error { return nil }

// arriving returns the body of the request, whose deadline ends with it. The one that it begins
// with is for handlers that set none.
func (s *sent) arriving(body io.ReadCloser) io.ReadCloser {
	if body == nil || body == http.NoBody {
		s.whole()
		return body
	}
	_ = s.control().SetReadDeadline(time.Now().Add(s.body)) // over HTTP/2 it has none yet
	return &arriving{body, s}
}

// whole ends the deadline of the body.
func (s *sent) whole() {
	if !s.arrived.Swap(true) {
		_ = s.control().SetReadDeadline(time.Time{}) // it has none, or has gone
	}
}

// arriving is a body until its end.
type arriving struct {
	io.ReadCloser
	of *sent
}

// Read implements io.Reader.
func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		a.of.whole()
	}
	return n, err
}
