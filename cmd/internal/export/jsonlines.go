package export

import (
	"encoding/json"
	"io"
)

// JSONLines writes each value as one line of JSON.
type JSONLines struct{ enc *json.Encoder }

// NewJSONLines begins a file.
func NewJSONLines(w io.Writer) *JSONLines {
	enc := json.NewEncoder(Escaping(w))
	enc.SetEscapeHTML(false)
	return &JSONLines{enc}
}

// Write writes one line.
func (j *JSONLines) Write(v any) error { return j.enc.Encode(v) }

// Escaping gives a writer of JSON whose control characters beyond ASCII, which JSON
// allows and terminals obey, are written as escapes.
func Escaping(w io.Writer) io.Writer { return escaping{w} }

type escaping struct{ w io.Writer }

// Write takes whole characters only, as an encoder writes them.
func (e escaping) Write(p []byte) (int, error) {
	const hex = "0123456789abcdef"
	var out []byte
	done := 0
	for i := 0; i < len(p); i++ {
		c, size := p[i], 1
		if c == 0xc2 && i+1 < len(p) && p[i+1] < 0xa0 { // U+0080 to U+009F
			c, size = p[i+1], 2
		} else if c != 0x7f {
			continue
		}
		out = append(append(out, p[done:i]...), '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		i += size - 1
		done = i + 1
	}
	if done == 0 {
		return e.w.Write(p)
	}
	if _, err := e.w.Write(append(out, p[done:]...)); err != nil {
		return 0, err
	}
	return len(p), nil
}
