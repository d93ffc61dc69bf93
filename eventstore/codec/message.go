package codec

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"github.com/accession-ingest/accession/domain"
)

// Message is an event in the log: a CloudEvent 1.0. [Encode] writes it in structured mode:
// Data is the whole event as JSON, and the one header says so. Older logs have binary
// mode: the attributes are headers, and Data is the event's data. Both are read.
type Message struct {
	// Subject is KIND.TOKEN; a log puts its prefix before it. See [Subject].
	Subject string
	Header  map[string][]string
	Data    []byte
}

// Headers of a message. HeaderStored says when the log first stored an event; only
// events that were lost and restored have it.
const (
	HeaderContentType = "content-type"
	HeaderStored      = "accession-stored"
)

const (
	structuredMode = "application/cloudevents+json" // content types of messages
	binaryMode     = "application/json"
	typePrefix     = "accession."
)

// Encode returns the message of an event. instance names the installation in the
// event's source; an event that was read from a log keeps the one it has. Text is
// sanitised (see [Sanitise]). Seq and Stored are not encoded: the log assigns them. For an
// event over [MaxEventBytes] the error is *[TooLarge].
func Encode(r domain.Recorded, instance string) (Message, error) {
	r, data, err := Sanitise(r)
	if err != nil {
		return Message{}, err
	}
	return EncodeSanitised(r, data, instance)
}

var structuredHeader = []string{structuredMode}

// EncodeSanitised is like [Encode], for an event and its data as [Sanitise] returned them.
func EncodeSanitised(r domain.Recorded, data []byte, instance string) (Message, error) {
	subject, err := Subject("", r.Aggregate)
	if err != nil {
		return Message{}, err
	}
	if r.Source == "" {
		r.Source = "/accession/" + url.PathEscape(instance)
	}
	return Message{Subject: subject, Header: map[string][]string{HeaderContentType: structuredHeader}, Data: body(r, data)}, nil
}

// SchemaID names the JSON Schema of an event type's version.
func SchemaID(t domain.EventType, version int) string {
	return "urn:accession:event:" + string(t) + ":v" + strconv.Itoa(version)
}

// NewestSchemaID names the JSON Schema of an event type's data as [Decode] returns it.
func NewestSchemaID(t domain.EventType) string { return SchemaID(t, newestVersion(t)) }

// Decode is the inverse of [Encode], older versions of the data brought up to
// the newest. Its error is a [*DecodeError], which is [ErrBroken]: the message was
// not written by Encode, or by a newer program.
func Decode(m Message) (domain.Recorded, error) {
	return decode(m, func(e envelope) (r domain.Recorded, err error) {
		r = e.event
		r.Data, err = decodeData(r.Event, e.schema, e.data)
		return r, err
	})
}

// envelope is what a message says about its data.
type envelope struct {
	event  domain.Recorded // without Data
	schema int             // version of the type that data is written in
	data   []byte
}

// decode reads the envelope, and lets read make of it what is wanted.
func decode[T any](m Message, read func(envelope) (T, error)) (v T, err error) {
	if a, data, ok := quickly(m); ok {
		if e, err := a.envelope(m.Subject, data); err == nil {
			if v, err := read(e); err == nil {
				return v, nil
			}
		}
	}
	a, data, err := attributesOf(m)
	e, fault := a.envelope(m.Subject, data)
	if err = cmp.Or(err, fault); err == nil {
		v, err = read(e)
	}
	if err != nil {
		e.event.Aggregate, _ = ParseSubject("", m.Subject) // the subject names the aggregate
		return *new(T), &DecodeError{Envelope: e.event, Data: e.data, err: fmt.Errorf("event %q on %s: %w: %w", a.ID, m.Subject, err, ErrBroken)}
	}
	return v, nil
}

// DecodeError says why a message could not be read, and holds what could: fields of the
// envelope that could not be decoded are zero; the aggregate is that of the subject. A
// reader of the log may continue after it.
type DecodeError struct {
	Envelope domain.Recorded // without Data
	Data     []byte          // of the event; the whole message where its data cannot be found
	err      error
}

// Error implements error.
func (e *DecodeError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.err }

// DecodeVersion reads from a message only what Log.Last returns: the event's number and
// the command that caused it. Its error is [ErrBroken].
func DecodeVersion(m Message) (version int64, commandID string, err error) {
	a, err := written(m)
	if err == nil {
		d := decoder{attributes: a}
		if version, err = d.number("version", a.Version), d.err; err == nil && version < 1 {
			err = fmt.Errorf("%sversion is %d; the first is 1", a.prefix, version)
		}
	}
	if err != nil {
		return 0, "", fmt.Errorf("event %q: %w: %w", a.ID, err, ErrBroken)
	}
	return version, a.CommandID, nil
}

// Identity is what a message says it is. It is not checked, and empty where the message
// cannot be read.
type Identity struct {
	ID      string // of the event
	Type    string // accession.NAME.vN
	Command string // that caused it
}

// Identify reads what a message says it is.
func Identify(m Message) Identity {
	a, _ := written(m)
	return Identity{ID: a.ID, Type: a.Type, Command: a.CommandID}
}

// decodeData reads the data of event e, written in the given version of its
// type.
func decodeData(e domain.Event, version int, data []byte) (domain.EventData, error) {
	def, err := definition(e)
	if err != nil {
		return nil, err
	}
	if data, err = registered.upcast(e.Type, version, data); err != nil {
		return nil, err
	}
	v := def.New()
	if parse(data, v) {
		return v, nil
	}
	v = def.New()
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("data of %s: %w", e.Type, err)
	}
	return v, nil
}

// DecodeData reads the data of an event from JSON, in the newest version of its type,
// as the tables keep it.
func DecodeData(e domain.Event, data []byte) (domain.EventData, error) {
	return decodeData(e, newestVersion(e.Type), data)
}

// definition returns the event's row in the registry; it checks the event's id.
func definition(e domain.Event) (domain.EventDef, error) {
	def, ok := domain.Lookup(e.Type)
	switch {
	case !ok:
		return def, fmt.Errorf("event type %q is unknown; a newer program may have written it: upgrade this one", e.Type)
	case def.Kind != e.Aggregate.Kind:
		return def, fmt.Errorf("event type %s belongs to a %s, not to %s", e.Type, def.Kind, e.Aggregate)
	case e.Aggregate.ID != SanitiseText(e.Aggregate.ID):
		return def, fmt.Errorf("the id %q is not valid text", e.Aggregate.ID)
	case e.Version < 1:
		return def, fmt.Errorf("event %s has number %d; the first is 1", e.Type, e.Version)
	}
	return def, nil
}

// Raw is an event for readers that do not share our Go types: its data stays JSON.
type Raw struct {
	domain.Recorded // without Data
	// DataVersion is the version of the type that JSON is written in.
	DataVersion int
	JSON        []byte
}

// DecodeRaw reads a message as [Decode] does, but keeps fields of the data that this
// program does not know. An event of an unknown type is returned as it was written; a
// newer version of a known type is an error, because its fields may have another
// meaning.
func DecodeRaw(m Message) (Raw, error) {
	return decode(m, func(e envelope) (raw Raw, err error) {
		raw = Raw{Recorded: e.event, DataVersion: e.schema, JSON: e.data}
		if _, known := domain.Lookup(raw.Type); known {
			if _, err = definition(raw.Event); err == nil {
				raw.JSON, err = registered.upcast(raw.Type, e.schema, e.data)
				raw.DataVersion = newestVersion(raw.Type)
			}
		}
		if err == nil && !json.Valid(raw.JSON) {
			err = fmt.Errorf("data of %s is not JSON", raw.Type)
		}
		return raw, err
	})
}
