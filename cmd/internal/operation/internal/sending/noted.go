package sending

import (
	"fmt"
	"net/http"
	"strings"
)

// Noted is an answer of which it is noted why it is not what was asked for.
type Noted struct {
	W       http.ResponseWriter
	err     error // the first that a write had
	outside bool  // the range is; nothing is sent
}

// Failed returns why the answer is not what was asked for.
func (p *Noted) Failed() error {
	if p.outside {
		return &Outside{Has: p.W.Header().Get("Content-Range")}
	}
	return p.err
}

// Header implements http.ResponseWriter.
func (p *Noted) Header() http.Header { return p.W.Header() }

// WriteHeader implements http.ResponseWriter.
func (p *Noted) WriteHeader(status int) {
	if p.outside = status == http.StatusRequestedRangeNotSatisfiable; !p.outside {
		p.W.WriteHeader(status)
	}
}

// Write implements io.Writer.
func (p *Noted) Write(b []byte) (n int, err error) {
	if p.outside {
		return len(b), nil // the text of the library
	}
	if p.err != nil || len(b) == 0 {
		return 0, p.err
	}
	n, p.err = p.W.Write(b)
	return n, p.err
}

// Outside is the error of a range that is not in the file. Nothing is sent yet.
type Outside struct{ Has string } // Content-Range

// Error implements error.
func (o *Outside) Error() string {
	return fmt.Sprintf("no part of the range is in the file, which has %s bytes", strings.TrimPrefix(o.Has, "bytes */"))
}
