package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/domain"
)

const dataKey = `,"data":`

// body writes an event and its data in structured mode: the JSON event format of
// CloudEvents, the attributes in their order and the data at the end. This is done by
// hand, as for the outbox and for the same reason.
func body(r domain.Recorded, data []byte) []byte {
	version := newestVersion(r.Type)
	a := attributes{
		SpecVersion: "1.0", ID: r.ID(), Type: typePrefix + string(r.Type) + ".v" + strconv.Itoa(version), Source: r.Source,
		Subject: r.Aggregate.String(), Time: r.Time.String(), DataSchema: SchemaID(r.Type, version),
		Version: strconv.FormatInt(r.Version, 10), Zxid: number(r.Zxid), Epoch: number(r.Epoch),
		BatchID: string(r.BatchID), Actor: string(r.Actor), CommandID: r.CommandID, CausationID: r.CausationID, TraceParent: r.TraceParent,
	}
	all, size := a.all(), len(dataKey)+len(data)+1
	for _, at := range all {
		size += len(at.key) + len(*at.text) + 2
	}
	b := make([]byte, 0, size)
	for _, at := range all {
		if text := *at.text; text != "" {
			b = appendText(append(b, at.key...), text)
		}
	}
	return append(append(append(b, dataKey...), data...), '}')
}

// number writes n, 0 as nothing.
func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// appendText appends a text as JSON.
func appendText(b []byte, s string) []byte {
	if plain(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	quoted, err := marshal(s)
	if err != nil {
		panic(err) // a text has JSON
	}
	return append(b, quoted...)
}

// quickly reads a message that is as [body] writes it, texts without escapes. It leaves
// all others, and whether the data is complete, to [fromBody]. What both can read, they
// read alike.
func quickly(m Message) (a attributes, data []byte, ok bool) {
	if first(m.Header[HeaderContentType]) != structuredMode {
		return a, nil, false
	}
	head, data, ok := bytes.Cut(m.Data, []byte(dataKey))
	data, end := bytes.CutSuffix(data, []byte("}"))
	p := parser{rest: string(head), ok: ok && end}
	for _, at := range a.all() {
		if p.next(at.key) {
			*at.text = p.text()
		}
	}
	// These are kept for long, and must not keep the whole text in memory.
	a.Subject, a.BatchID = strings.Clone(a.Subject), strings.Clone(a.BatchID)
	return a, data, p.ok && p.rest == ""
}

// fromBody reads the attributes and the data of a message in structured mode.
func fromBody(body []byte) (attributes, []byte, error) {
	var in struct {
		attributes
		ContentType string          `json:"datacontenttype"`
		Data        json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return in.attributes, body, fmt.Errorf("the event is not JSON of CloudEvents: %w", err)
	}
	for _, at := range in.all() {
		if !validText(*at.text) {
			return in.attributes, in.Data, fmt.Errorf("%s: %w", at.header[len("ce-"):], errText)
		}
	}
	switch {
	case in.ContentType != "" && in.ContentType != binaryMode:
		return in.attributes, in.Data, fmt.Errorf("datacontenttype is %q, not %s", in.ContentType, binaryMode)
	case in.Data == nil:
		return in.attributes, body, errors.New("the event has no data")
	}
	return in.attributes, in.Data, nil
}
