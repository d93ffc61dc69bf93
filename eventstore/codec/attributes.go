package codec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/accession-ingest/accession/domain"
)

// attributes are those of a CloudEvent, as the texts that they are in either mode, ""
// where there is none. Numbers are texts because CloudEvents has no integer of 64 bits,
// and many readers of JSON have none either.
type attributes struct {
	prefix string // of their names where they were read

	SpecVersion string `json:"specversion"`
	ID          string `json:"id"`
	Type        string `json:"type"`
	Source      string `json:"source"`
	Subject     string `json:"subject"`
	Time        string `json:"time"`
	DataSchema  string `json:"dataschema"`
	Version     string `json:"version"`
	Zxid        string `json:"zxid"`
	Epoch       string `json:"epoch"`
	BatchID     string `json:"batchid"`
	Actor       string `json:"actor"`
	CommandID   string `json:"commandid"`
	CausationID string `json:"causationid"`
	TraceParent string `json:"traceparent"`
}

// attribute is where one of the attributes is found: its header in binary mode, its key
// in structured mode.
type attribute struct {
	header, key string
	text        *string
}

// all lists the attributes in the order in which they are written.
func (a *attributes) all() [15]attribute {
	return [...]attribute{
		{"ce-specversion", `{"specversion":`, &a.SpecVersion},
		{"ce-id", `,"id":`, &a.ID},
		{"ce-type", `,"type":`, &a.Type},
		{"ce-source", `,"source":`, &a.Source},
		{"ce-subject", `,"subject":`, &a.Subject},
		{"ce-time", `,"time":`, &a.Time},
		{"ce-dataschema", `,"dataschema":`, &a.DataSchema},
		{"ce-version", `,"version":`, &a.Version},
		{"ce-zxid", `,"zxid":`, &a.Zxid},
		{"ce-epoch", `,"epoch":`, &a.Epoch},
		{"ce-batchid", `,"batchid":`, &a.BatchID},
		{"ce-actor", `,"actor":`, &a.Actor},
		{"ce-commandid", `,"commandid":`, &a.CommandID},
		{"ce-causationid", `,"causationid":`, &a.CausationID},
		{"ce-traceparent", `,"traceparent":`, &a.TraceParent},
	}
}

// attributesOf reads the attributes of a message, in the mode that its content type
// names, and returns its data. They are not checked.
func attributesOf(m Message) (attributes, []byte, error) {
	if first(m.Header[HeaderContentType]) == structuredMode {
		return fromBody(m.Data)
	}
	a, err := fromHeaders(m.Header)
	return a, m.Data, err
}

// written reads the attributes of a message without its data.
func written(m Message) (attributes, error) {
	if a, _, ok := quickly(m); ok {
		return a, nil
	}
	a, _, err := attributesOf(m)
	return a, err
}

// envelope checks the attributes of an event on a subject. When it fails it returns what
// could be read.
func (a attributes) envelope(subject string, data []byte) (envelope, error) {
	d := decoder{attributes: a}
	if a.SpecVersion != "1.0" {
		d.fail(fmt.Errorf("%sspecversion is %q, not 1.0", a.prefix, a.SpecVersion))
	}
	aggregate, err := domain.ParseAggregate(a.Subject)
	d.fail(err)
	name, schema, err := parseType(a.Type)
	if err != nil {
		d.fail(fmt.Errorf("%stype is %w", a.prefix, err))
	}
	r := domain.Recorded{
		Event:   domain.Event{Type: name, Aggregate: aggregate, Version: d.number("version", a.Version)},
		Time:    d.time("time", a.Time),
		BatchID: domain.BatchID(a.BatchID), Actor: domain.Actor(a.Actor),
		CommandID: a.CommandID, CausationID: a.CausationID, TraceParent: a.TraceParent,
		Zxid: d.number("zxid", a.Zxid), Epoch: d.number("epoch", a.Epoch), Source: a.Source,
	}
	if d.err == nil && a.ID != r.ID() {
		d.fail(fmt.Errorf("%sid is %q where subject and version say %q", a.prefix, a.ID, r.ID()))
	}
	if d.err == nil && !plainSubject(subject, aggregate) {
		own, err := Subject("", aggregate)
		if d.fail(err); err == nil && own != subject {
			d.fail(fmt.Errorf("the event of %s is on subject %q, not %q", aggregate, subject, own))
		}
	}
	return envelope{r, schema, data}, d.err
}

// parseType splits accession.NAME.vN.
func parseType(s string) (domain.EventType, int, error) {
	name, ok := strings.CutPrefix(s, typePrefix)
	if i := strings.LastIndex(name, ".v"); ok && i > 0 {
		if n, err := strconv.Atoi(name[i+2:]); err == nil && n > 0 {
			return domain.EventType(name[:i]), n, nil
		}
	}
	return "", 0, fmt.Errorf("%q, not %sNAME.vN", s, typePrefix)
}

// decoder reads the texts of attributes and keeps the first fault.
type decoder struct {
	attributes
	err error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

func (d *decoder) number(name, s string) int64 {
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		d.fail(fmt.Errorf("%s%s is %q, not a number", d.prefix, name, s))
	}
	return n
}

func (d *decoder) time(name, s string) domain.Time {
	if s == "" {
		return domain.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		d.fail(fmt.Errorf("%s%s is %q, not a time", d.prefix, name, s))
	}
	return domain.At(t)
}

// errText is the fault of an attribute that PostgreSQL would refuse. Logs from before the
// rules for text were stricter must stay readable.
var errText = errors.New("not valid text")

func validText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }
