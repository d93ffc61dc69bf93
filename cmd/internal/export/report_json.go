package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// writeJSON writes one object, its rows one a line: {"report", "title", "made",
// "at", "facts": {…}, "tables": {NAME: [{…}]}}. Names are in the order of the report.
func writeJSON(to io.Writer, r app.Report, o ReportOptions) error {
	out := bufio.NewWriter(to)
	w := newJSONWriter(out)
	w.value(`{"report":`, r.Name)
	w.value(`,"title":`, r.Title)
	w.value(`,"made":`, o.Made.UTC().Format(time.RFC3339))
	if r.At != nil {
		w.value(`,"at":`, r.At)
	}
	w.buf.WriteString(`,"facts":{`)
	for i, f := range r.Facts {
		w.value(comma(i), f.Name)
		w.value(":", f.Value)
	}
	w.buf.WriteString(`},"tables":{`)
	for i, t := range r.Tables {
		w.value(comma(i)+"\n", t.Name)
		w.buf.WriteString(":[")
		n := 0
		for row, err := range t.Rows {
			if err := errors.Join(err, w.flush()); err != nil {
				return err
			}
			w.buf.WriteString(comma(n) + "\n{")
			for c, v := range row {
				w.value(comma(c), t.Columns[c].Name)
				w.value(":", v)
			}
			w.buf.WriteByte('}')
			n++
			o.Row()
		}
		w.buf.WriteByte(']')
	}
	w.buf.WriteString("}}\n")
	return errors.Join(w.flush(), out.Flush())
}

// comma returns what is before the i-th of a list.
func comma(i int) string {
	if i > 0 {
		return ","
	}
	return ""
}

// jsonWriter writes parts of JSON.
type jsonWriter struct {
	to  io.Writer
	buf bytes.Buffer // until flush, so that the escaping gets whole characters
	enc *json.Encoder
	err error // the first
}

func newJSONWriter(w io.Writer) *jsonWriter {
	j := &jsonWriter{to: escaping{w}}
	j.enc = json.NewEncoder(&j.buf)
	j.enc.SetEscapeHTML(false)
	return j
}

// value adds a text, then a value as JSON.
func (j *jsonWriter) value(before string, v any) {
	j.buf.WriteString(before)
	if err := j.enc.Encode(v); err != nil {
		j.err = errors.Join(j.err, err)
		return
	}
	j.buf.Truncate(j.buf.Len() - 1) // the encoder ends values with a line feed
}

// flush writes what was added.
func (j *jsonWriter) flush() error {
	if _, err := j.buf.WriteTo(j.to); err != nil {
		return err
	}
	return j.err
}
