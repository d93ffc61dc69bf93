package follow

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/codec"
)

// Options say which log is followed, from where on, and which of its events are
// wanted. Conditions on events must hold together; an empty one always holds.
type Options struct {
	// URL of the NATS server, or several with commas. Required.
	URL string
	// NATS holds credentials, TLS and handlers for the connection. Reconnecting
	// is set already: for ever.
	NATS []nats.Option
	// Stream is the log's name, "" = ACCESSION.
	Stream string
	// Prefix of the log's subjects, "" = accession.v1.
	Prefix string

	// After is the position of the last event that was dealt with; the zero value
	// = begin with the first event of the log.
	After Position
	// New begins with the first event that comes after [Open], and needs a zero
	// After. [Follower.Position] is what to store then.
	New bool

	// Types are names such as job.completed, or job.* for all of a kind.
	Types []string
	// Subjects name the aggregates whose events are wanted, such as job/jid0000000042.
	Subjects []string
	// Batch is the id of a batch: its own events and those of its jobs and files.
	Batch string
}

const defaultStream = "ACCESSION" // as nats_stream is by default

// filter has the conditions that the server cannot check, and the subjects to request
// from it.
type filter struct {
	types    []string
	batch    string
	subjects []string // none = all
}

func (o *Options) filter() (filter, error) {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	o.Stream, o.Prefix = cmp.Or(o.Stream, defaultStream), cmp.Or(o.Prefix, codec.DefaultPrefix)
	if o.URL == "" {
		fault("the URL of the NATS server is missing")
	}
	if o.New && o.After != (Position{}) {
		fault("New and After exclude each other: with a position the beginning is given")
	}
	if s := o.After.Stream; s != "" && s != o.Stream {
		fault("the position belongs to stream %s, not to %s", s, o.Stream)
	}
	f := filter{types: o.Types, batch: o.Batch}
	for _, s := range o.Subjects {
		a, err := domain.ParseAggregate(s)
		if err == nil {
			var subject string
			if subject, err = codec.Subject(o.Prefix, a); !slices.Contains(f.subjects, subject) {
				f.subjects = append(f.subjects, subject)
			}
		}
		if err != nil {
			faults = append(faults, err)
		}
	}
	for _, t := range o.Types {
		kind, name, _ := strings.Cut(t, ".")
		if !known(kind, name) {
			fault("event type %q is unknown: see the list in docs/events.md, or build with a newer version of this package", t)
		}
		if s := o.Prefix + "." + kind + ".*"; len(o.Subjects) == 0 && !slices.Contains(f.subjects, s) {
			f.subjects = append(f.subjects, s)
		}
	}
	return f, errors.Join(faults...)
}

func known(kind, name string) bool {
	return slices.ContainsFunc(domain.Registry, func(d domain.EventDef) bool {
		return string(d.Kind) == kind && (name == "*" || string(d.Type) == kind+"."+name)
	})
}

// wants reports whether an event meets the conditions that the server cannot check.
func (f filter) wants(e Event) bool {
	if f.batch != "" && e.Batch != f.batch {
		return false
	}
	kind, _, _ := strings.Cut(e.Type, ".")
	return len(f.types) == 0 || slices.Contains(f.types, e.Type) || slices.Contains(f.types, kind+".*")
}
