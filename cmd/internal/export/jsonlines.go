package export

import (
	"encoding/json"
	"io"

	"github.com/accession-ingest/accession/domain/text"
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

// escaping writes JSON with escapes for what JSON allows and is no text; see
// [text.EscapeJSON].
type escaping struct{ w io.Writer }

// NewEscaping returns a writer of JSON to w that escapes what is no text. It takes whole
// characters only, as an encoder writes them.
func NewEscaping(w io.Writer) io.Writer { return escaping{w} }

// Write implements io.Writer.
func (e escaping) Write(p []byte) (int, error) {
	if _, err := e.w.Write(text.EscapeJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
