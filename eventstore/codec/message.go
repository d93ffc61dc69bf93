package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// Message is an event in the log: a CloudEvent 1.0 in binary mode, attributes in the
// headers and JSON in the data.
type Message struct {
	// Subject is KIND.TOKEN; a log puts its prefix before it. See [Subject].
	Subject string
	Header  map[string][]string
	Data    []byte
}

const (
	contentType = "application/json"
	typePrefix  = "accession."
)

// HeaderStored is the header of a restored event that says when the log first stored
// it.
const HeaderStored = "accession-stored"

// Encode returns the message of an event. instance names the installation in the
// event's source; an event that was read from a log keeps the one it has. Text is
// cleaned (see [Clean]). Seq and Stored are not encoded: the log assigns them. For an
// event over [MaxEventBytes] the error is *[TooLarge].
func Encode(r domain.Recorded, instance string) (Message, error) {
	r, data, err := prepare(r)
	if err != nil {
		return Message{}, err
	}
	subject, err := Subject("", r.Aggregate)
	if err != nil {
		return Message{}, err
	}
	version := strconv.Itoa(newestVersion(r.Type))
	h := make(map[string][]string, 24)
	values := make([]string, 0, 24) // of all headers, in one piece
	set := func(name, value string) {
		if value != "" {
			values = append(values, escape(value))
			n := len(values)
			h[name] = values[n-1 : n : n]
		}
	}
	set("ce-specversion", "1.0")
	set("ce-id", r.ID())
	set("ce-type", typePrefix+string(r.Type)+".v"+version)
	source := r.Source
	if source == "" {
		source = "/accession/" + url.PathEscape(instance)
	}
	set("ce-source", source)
	set("ce-subject", r.Aggregate.String())
	set("ce-time", r.Time.String())
	set("ce-dataschema", SchemaID(r.Type, newestVersion(r.Type)))
	set("ce-version", strconv.FormatInt(r.Version, 10))
	set("ce-zxid", number(r.Zxid))
	set("ce-epoch", number(r.Epoch))
	set("ce-batchid", string(r.BatchID))
	set("ce-actor", string(r.Actor))
	set("ce-commandid", r.CommandID)
	set("ce-causationid", r.CausationID)
	set("ce-traceparent", r.TraceParent)
	set("content-type", contentType)
	return Message{Subject: subject, Header: h, Data: data}, nil
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
	r, schema, err := decodeEnvelope(m)
	if err == nil {
		r.Data, err = decodeData(r.Event, schema, m.Data)
	}
	if err != nil {
		return domain.Recorded{}, unreadable(m, r, err)
	}
	return r, nil
}

// decodeEnvelope reads the headers and returns the version of the data. When it fails
// it returns what could be read.
func decodeEnvelope(m Message) (r domain.Recorded, schema int, err error) {
	d := decoder{header: m.Header}
	if v := d.text("ce-specversion"); v != "1.0" {
		d.fail(fmt.Errorf("ce-specversion is %q, not 1.0", v))
	}
	if v := d.text("content-type"); v != contentType {
		d.fail(fmt.Errorf("content-type is %q, not %s", v, contentType))
	}
	whose := d.text("ce-subject")
	aggregate, err := domain.ParseAggregate(whose)
	d.fail(err)
	name, schema, err := parseType(d.text("ce-type"))
	d.fail(err)
	r = domain.Recorded{
		Event:   domain.Event{Type: name, Aggregate: aggregate, Version: d.number("ce-version")},
		Time:    d.time("ce-time"),
		BatchID: domain.BatchID(d.text("ce-batchid")), Actor: domain.Actor(d.text("ce-actor")),
		CommandID: d.text("ce-commandid"), CausationID: d.text("ce-causationid"), TraceParent: d.text("ce-traceparent"),
		Zxid: d.number("ce-zxid"), Epoch: d.number("ce-epoch"), Source: d.text("ce-source"),
	}
	if id := d.text("ce-id"); d.err == nil && id != r.ID() {
		d.fail(fmt.Errorf("ce-id is %q where subject and version say %q", id, r.ID()))
	}
	if d.err == nil && !plainSubject(m.Subject, aggregate) {
		subject, err := Subject("", aggregate)
		if d.fail(err); err == nil && subject != m.Subject {
			d.fail(fmt.Errorf("the event of %s is on subject %q, not %q", aggregate, m.Subject, subject))
		}
	}
	return r, schema, d.err
}

func unreadable(m Message, r domain.Recorded, err error) error {
	r.Aggregate, _ = ParseSubject("", m.Subject) // the subject names the aggregate
	return &DecodeError{Envelope: r, Data: m.Data,
		err: fmt.Errorf("event %q on %s: %w: %w", first(m.Header["ce-id"]), m.Subject, err, ErrBroken)}
}

// DecodeError says why a message could not be read, and holds what could: fields of the
// envelope that could not be decoded are zero; the aggregate is that of the subject. A
// reader of the log may continue after it.
type DecodeError struct {
	Envelope domain.Recorded // without Data
	Data     []byte          // as it is in the log
	err      error
}

// Error implements error.
func (e *DecodeError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.err }

// DecodeVersion reads from a message's headers only what Log.Last returns: the event's
// number and the command that caused it. Its error is [ErrBroken].
func DecodeVersion(header map[string][]string) (version int64, commandID string, err error) {
	d := decoder{header: header}
	version, commandID = d.number("ce-version"), d.text("ce-commandid")
	if version < 1 {
		d.fail(fmt.Errorf("ce-version is %d; the first is 1", version))
	}
	if d.err != nil {
		return 0, "", fmt.Errorf("event %q: %w: %w", first(header["ce-id"]), d.err, ErrBroken)
	}
	return version, commandID, nil
}

// decodeData reads the data of event e, written in the given version of its
// type.
func decodeData(e domain.Event, version int, data []byte) (domain.EventData, error) {
	def, err := define(e)
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

// define finds the event's row in the registry and checks the event's id.
func define(e domain.Event) (domain.EventDef, error) {
	def, ok := domain.Lookup(e.Type)
	switch {
	case !ok:
		return def, fmt.Errorf("event type %q is unknown; a newer program may have written it: upgrade this one", e.Type)
	case def.Kind != e.Aggregate.Kind:
		return def, fmt.Errorf("event type %s belongs to a %s, not to %s", e.Type, def.Kind, e.Aggregate)
	case e.Aggregate.ID != CleanText(e.Aggregate.ID):
		return def, fmt.Errorf("the id %q is no valid text", e.Aggregate.ID)
	case e.Version < 1:
		return def, fmt.Errorf("event %s has number %d; the first is 1", e.Type, e.Version)
	}
	return def, nil
}

// parseType splits accession.NAME.vN.
func parseType(s string) (domain.EventType, int, error) {
	name, ok := strings.CutPrefix(s, typePrefix)
	if i := strings.LastIndex(name, ".v"); ok && i > 0 {
		if n, err := strconv.Atoi(name[i+2:]); err == nil && n > 0 {
			return domain.EventType(name[:i]), n, nil
		}
	}
	return "", 0, fmt.Errorf("ce-type is %q, not %sNAME.vN", s, typePrefix)
}

// decoder reads headers and keeps the first fault.
type decoder struct {
	header map[string][]string
	err    error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

func (d *decoder) text(name string) string {
	s, err := unescape(first(d.header[name]))
	if err != nil {
		d.fail(fmt.Errorf("%s: %w", name, err))
	}
	return s
}

func (d *decoder) number(name string) int64 {
	s := d.text(name)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		d.fail(fmt.Errorf("%s is %q, not a number", name, s))
	}
	return n
}

func (d *decoder) time(name string) domain.Time {
	s := d.text(name)
	if s == "" {
		return domain.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		d.fail(fmt.Errorf("%s is %q, not a time", name, s))
	}
	return domain.At(t)
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// number writes n, 0 as nothing.
func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// escape percent-encodes a header value as the CloudEvents bindings require: what is
// not printable ASCII, space, double quote and percent.
func escape(s string) string {
	if strings.IndexFunc(s, needsEscape) < 0 {
		return s
	}
	var b []byte
	for i := range len(s) {
		if needsEscape(rune(s[i])) {
			b = fmt.Appendf(b, "%%%02X", s[i])
		} else {
			b = append(b, s[i])
		}
	}
	return string(b)
}

func needsEscape(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '%' }

func unescape(s string) (string, error) {
	if !strings.Contains(s, "%") {
		return s, nil
	}
	plain, err := url.PathUnescape(s)
	if err != nil {
		return "", errors.New("bad percent-encoding")
	}
	if CleanText(plain) != plain {
		return "", errors.New("no valid text")
	}
	return plain, nil
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
	r, version, err := decodeEnvelope(m)
	raw := Raw{Recorded: r, DataVersion: version, JSON: m.Data}
	if _, known := domain.Lookup(r.Type); known && err == nil {
		if _, err = define(r.Event); err == nil {
			raw.JSON, err = registered.upcast(r.Type, version, m.Data)
			raw.DataVersion = newestVersion(r.Type)
		}
	}
	if err == nil && !json.Valid(raw.JSON) {
		err = fmt.Errorf("data of %s is no JSON", r.Type)
	}
	if err != nil {
		return Raw{}, unreadable(m, r, err)
	}
	return raw, nil
}
