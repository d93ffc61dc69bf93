package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// JSONLines writes each value as one line of JSON.
type JSONLines struct{ enc *json.Encoder }

// NewJSONLines returns a writer of lines to w.
func NewJSONLines(w io.Writer) *JSONLines {
	enc := json.NewEncoder(escaping{w})
	enc.SetEscapeHTML(false)
	return &JSONLines{enc}
}

// Write writes one line.
func (j *JSONLines) Write(v any) error { return j.enc.Encode(v) }

// escaping writes JSON with escapes for the control characters beyond ASCII, which
// JSON allows and terminals obey.
type escaping struct{ w io.Writer }

// needsEscape reports whether a character that JSON allows is a control character.
func needsEscape(r rune) bool { return r >= 0x7f && r < 0xa0 }

// Write takes whole characters only, as an encoder writes them.
func (e escaping) Write(p []byte) (int, error) {
	out := p
	if bytes.ContainsFunc(p, needsEscape) {
		out = nil
		for _, r := range string(p) {
			if needsEscape(r) {
				out = fmt.Appendf(out, `\u%04x`, r)
			} else {
				out = utf8.AppendRune(out, r)
			}
		}
	}
	if _, err := e.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
