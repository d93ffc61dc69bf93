package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// writeJSON writes one object, its rows one a line: {"report", "title", "made",
// "at", "facts": {…}, "tables": {NAME: [{…}]}}. Names are in the order of the report.
func writeJSON(to io.Writer, r app.Report, o ReportOptions) error {
	b := bufio.NewWriter(to)
	w := &jsonWriter{w: b}
	w.raw(`{"report":`).value(r.Name).raw(`,"title":`).value(r.Title).raw(`,"made":`).value(o.Made.UTC().Format(time.RFC3339))
	if r.At != nil {
		w.raw(`,"at":`).value(r.At)
	}
	w.raw(`,"facts":{`)
	for i, f := range r.Facts {
		w.comma(i).value(f.Name).raw(":").value(f.Value)
	}
	w.raw(`},"tables":{`)
	for i, t := range r.Tables {
		w.comma(i).raw("\n").value(t.Name).raw(":[")
		n := 0
		for row, err := range t.Rows {
			if err != nil {
				return err
			}
			w.comma(n).raw("\n{")
			for c, v := range row {
				w.comma(c).value(t.Columns[c].Name).raw(":").value(v)
			}
			w.raw("}")
			if w.err != nil {
				return w.err
			}
			n++
			o.Row()
		}
		w.raw("]")
	}
	w.raw("}}\n")
	if w.err != nil {
		return w.err
	}
	return b.Flush()
}

// jsonWriter writes parts of JSON until the first error.
type jsonWriter struct {
	w   *bufio.Writer
	err error
	buf bytes.Buffer
}

func (j *jsonWriter) raw(s string) *jsonWriter {
	if j.err == nil {
		_, j.err = j.w.WriteString(s)
	}
	return j
}

func (j *jsonWriter) comma(i int) *jsonWriter {
	if i > 0 {
		return j.raw(",")
	}
	return j
}

func (j *jsonWriter) value(v any) *jsonWriter {
	if j.err != nil {
		return j
	}
	j.buf.Reset()
	enc := json.NewEncoder(&j.buf)
	enc.SetEscapeHTML(false)
	if j.err = enc.Encode(v); j.err == nil {
		// Here, where characters are whole: the buffer behind cuts where it is full.
		_, j.err = Escaping(j.w).Write(bytes.TrimRight(j.buf.Bytes(), "\n"))
	}
	return j
}
