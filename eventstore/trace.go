package eventstore

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/accession-ingest/accession/domain"
)

// Trace identifies one piece of work: its events, its log lines and its requests carry
// it. It is a W3C trace context. The zero Trace is none.
type Trace struct{ parent string }

// NewTrace begins a trace.
func NewTrace() Trace {
	var id [24]byte         // of the trace, then of its one span
	_, _ = rand.Read(id[:]) // never fails
	return Trace{"00-" + hex.EncodeToString(id[:16]) + "-" + hex.EncodeToString(id[16:]) + "-01"}
}

// Parent returns the traceparent for a [Meta], "" = none.
func (t Trace) Parent() string { return t.parent }

// ID returns the trace id for log lines, "" = none.
func (t Trace) ID() string { return domain.TraceID(t.parent) }
