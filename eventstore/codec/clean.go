package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/accession-ingest/accession/domain"
)

// ErrBroken is the cause of every error of this package: the event, or its bytes, are
// invalid, and a retry cannot help.
var ErrBroken = errors.New("broken")

// MaxEventBytes is the most that an event may hold, data and attributes
// together. Put larger parts into the object store, with their digest in the
// event.
const MaxEventBytes = 32 << 10

// TooLarge is the error for an event larger than [MaxEventBytes]; it is [ErrBroken].
type TooLarge struct {
	ID   string // of the event
	Type domain.EventType
	Size int // bytes
}

// Error implements error.
func (e *TooLarge) Error() string {
	return fmt.Sprintf("event %s (%s) has %d bytes, more than %d: keep large parts in the object store and name them by digest",
		e.ID, e.Type, e.Size, MaxEventBytes)
}

// Unwrap makes it ErrBroken.
func (e *TooLarge) Unwrap() error { return ErrBroken }

// Clean returns the event as it will be read again: in every text, every invalid UTF-8
// sequence and every NUL (which PostgreSQL's jsonb refuses) becomes U+FFFD, the
// replacement character. Clean is idempotent, and the only place where text is cleaned.
// Its errors are those of [Encode].
func Clean(r domain.Recorded) (domain.Recorded, error) {
	r, _, err := prepare(r)
	return r, err
}

// prepare cleans the event and returns it with its data as JSON.
func prepare(r domain.Recorded) (domain.Recorded, []byte, error) {
	def, err := define(r.Event)
	if err != nil {
		return r, nil, fmt.Errorf("event %s: %w: %w", r.ID(), err, ErrBroken)
	}
	if reflect.TypeOf(r.Data) != reflect.TypeOf(def.New()) {
		return r, nil, fmt.Errorf("event %s: data of %s is a %T, not a %T: %w", r.ID(), r.Type, r.Data, def.New(), ErrBroken)
	}
	r.BatchID, r.Actor = domain.BatchID(CleanText(string(r.BatchID))), domain.Actor(CleanText(string(r.Actor)))
	r.CommandID, r.CausationID, r.TraceParent = CleanText(r.CommandID), CleanText(r.CausationID), CleanText(r.TraceParent)
	data, err := marshal(r.Data)
	if err != nil {
		return r, nil, fmt.Errorf("event %s: %w: %w", r.ID(), err, ErrBroken)
	}
	if dirty(data) {
		data = []byte(cleanJSON.Replace(string(data)))
		v := def.New()
		if err := json.Unmarshal(data, v); err != nil {
			return r, nil, fmt.Errorf("event %s: %w: %w", r.ID(), err, ErrBroken)
		}
		r.Data = v
	}
	size := len(data) + len(r.ID()) + len(r.Type) + len(r.BatchID) + len(r.Actor) + len(r.CommandID) + len(r.CausationID) + len(r.TraceParent)
	if size > MaxEventBytes {
		return r, nil, &TooLarge{ID: r.ID(), Type: r.Type, Size: size}
	}
	return r, data, nil
}

// CleanText returns a text outside of JSON as [Clean] leaves it.
func CleanText(s string) string {
	if plain(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// The encoder writes NUL, and bytes that are not UTF-8, as these escapes; it does not
// escape a replacement character of the original text.
var (
	escapedNUL = []byte(`\u0000`)
	escapedBad = []byte(`\ufffd`)
)

func dirty(data []byte) bool {
	return bytes.Contains(data, escapedNUL) || bytes.Contains(data, escapedBad)
}

// cleanJSON replaces escaped NULs. An escaped backslash is skipped together with its
// escape.
var cleanJSON = strings.NewReplacer(`\\`, `\\`, string(escapedNUL), "\ufffd", string(escapedBad), "\ufffd")

// marshal returns the JSON of v without HTML escapes.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
