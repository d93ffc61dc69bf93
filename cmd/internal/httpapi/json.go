package httpapi

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/accession-ingest/accession/domain/text"
)

// jsonFormat is JSON as it is read and written here: a body that is not UTF-8 is refused,
// where the library would replace a part of it, and an answer escapes what is no text.
var jsonFormat = huma.Format{Marshal: writeJSON, Unmarshal: func(data []byte, v any) error {
	if !utf8.Valid(data) {
		return errors.New("the body is not UTF-8; write it in UTF-8")
	}
	return huma.DefaultJSONFormat.Unmarshal(data, v)
}}

func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	if err := huma.DefaultJSONFormat.Marshal(&b, v); err != nil {
		return err
	}
	_, err := w.Write(text.EscapeJSON(b.Bytes()))
	return err
}
