package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/text"
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

// Sanitise returns the event as it will be read again: in every text, what is not UTF-8 and
// what is no text (see package text; NUL, for one, is refused by PostgreSQL's jsonb)
// becomes U+FFFD, the replacement character; line feeds and tabs stay. Sanitise is
// idempotent, and the only function that changes text. It returns the event's data as
// JSON as well, for [EncodeSanitised] and [MarshalSanitised]. Its errors are those of
// [Encode].
func Sanitise(r domain.Recorded) (domain.Recorded, []byte, error) {
	def, err := definition(r.Event)
	if err != nil {
		return r, nil, fmt.Errorf("event %s: %w: %w", r.ID(), err, ErrBroken)
	}
	if reflect.TypeOf(r.Data) != reflect.TypeOf(def.New()) {
		return r, nil, fmt.Errorf("event %s: data of %s is a %T, not a %T: %w", r.ID(), r.Type, r.Data, def.New(), ErrBroken)
	}
	r.BatchID, r.Actor = domain.BatchID(SanitiseText(string(r.BatchID))), domain.Actor(SanitiseText(string(r.Actor)))
	r.CommandID, r.CausationID, r.TraceParent = SanitiseText(r.CommandID), SanitiseText(r.CausationID), SanitiseText(r.TraceParent)
	data, err := marshal(r.Data)
	if err != nil {
		return r, nil, fmt.Errorf("event %s: %w: %w", r.ID(), err, ErrBroken)
	}
	if dirty(data) {
		data = sanitise(data)
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

// SanitiseAll sanitises events in place and returns the data of each as JSON.
func SanitiseAll(events []domain.Recorded) (data [][]byte, err error) {
	data = make([][]byte, len(events))
	for i, r := range events {
		if events[i], data[i], err = Sanitise(r); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// SanitiseText returns a text outside of JSON as [Sanitise] leaves it.
func SanitiseText(s string) string {
	if plain(s) {
		return s
	}
	return text.Lines(s)
}

// dirty reports whether JSON of the encoder has a text to sanitise. The encoder
// writes \u, \b, \f and \r for characters that are no text, and for nothing else.
func dirty(data []byte) bool {
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\\':
			if i++; i < len(data) && strings.IndexByte("ubfr", data[i]) >= 0 {
				return true
			}
		case c >= 0x7f:
			r, size := utf8.DecodeRune(data[i:])
			if text.KindOf(r) != text.Plain {
				return true
			}
			i += size - 1
		}
	}
	return false
}

// sanitise returns JSON of the encoder with all its texts sanitised.
func sanitise(data []byte) []byte {
	return []byte(text.Lines(sanitiseJSON.Replace(string(data))))
}

// sanitiseJSON replaces the escapes of characters that are no text. An escaped backslash
// is skipped together with its escape.
var sanitiseJSON = func() *strings.Replacer {
	pairs := []string{`\\`, `\\`}
	for _, escape := range []string{`\b`, `\f`, `\r`, `\u2028`, `\u2029`, `\ufffd`} {
		pairs = append(pairs, escape, "\ufffd")
	}
	for c := range ' ' {
		pairs = append(pairs, fmt.Sprintf(`\u%04x`, c), "\ufffd")
	}
	return strings.NewReplacer(pairs...)
}()

// marshal returns the JSON of v without HTML escapes.
func marshal(v any) ([]byte, error) {
	if data, err := json.Marshal(v); err != nil || !bytes.Contains(data, []byte(`\u00`)) {
		return data, err // nothing was escaped
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
