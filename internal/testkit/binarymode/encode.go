// Package binarymode writes events as the first programs did: CloudEvents in binary mode,
// with the attributes in headers. Such events are in logs, and must be read for ever.
package binarymode

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/codec"
)

// Encode returns the message of an event.
func Encode(r domain.Recorded, instance string) (codec.Message, error) {
	r, data, err := codec.Sanitise(r)
	if err != nil {
		return codec.Message{}, err
	}
	return EncodeSanitised(r, data, instance)
}

// EncodeSanitised is like [Encode], for an event and its data as [codec.Sanitise] returned them.
func EncodeSanitised(r domain.Recorded, data []byte, instance string) (codec.Message, error) {
	subject, err := codec.Subject("", r.Aggregate)
	if err != nil {
		return codec.Message{}, err
	}
	schema := codec.NewestSchemaID(r.Type)
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
	set("ce-type", "accession."+string(r.Type)+"."+schema[strings.LastIndexByte(schema, ':')+1:])
	source := r.Source
	if source == "" {
		source = "/accession/" + url.PathEscape(instance)
	}
	set("ce-source", source)
	set("ce-subject", r.Aggregate.String())
	set("ce-time", r.Time.String())
	set("ce-dataschema", schema)
	set("ce-version", strconv.FormatInt(r.Version, 10))
	set("ce-zxid", number(r.Zxid))
	set("ce-epoch", number(r.Epoch))
	set("ce-batchid", string(r.BatchID))
	set("ce-actor", string(r.Actor))
	set("ce-commandid", r.CommandID)
	set("ce-causationid", r.CausationID)
	set("ce-traceparent", r.TraceParent)
	set("content-type", "application/json")
	return codec.Message{Subject: subject, Header: h, Data: data}, nil
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
