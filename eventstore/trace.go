package eventstore

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/accession-ingest/accession/domain"
)

// Trace joins what belongs together: the events of one piece of work, its lines in
// the log, and its requests. It is a W3C trace context. The zero Trace is none.
type Trace struct{ parent string }

// NewTrace begins a trace.
func NewTrace() Trace {
	var id [24]byte         // of the trace, then of its one span
	_, _ = rand.Read(id[:]) // never fails
	return Trace{"00-" + hex.EncodeToString(id[:16]) + "-" + hex.EncodeToString(id[16:]) + "-01"}
}

// Parent is the traceparent that an [Meta] carries, "" = none.
func (t Trace) Parent() string { return t.parent }

// ID is the trace id, as lines of the log carry it, "" = none.
func (t Trace) ID() string { return domain.TraceID(t.parent) }
