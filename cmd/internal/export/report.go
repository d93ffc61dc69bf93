package export

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// The formats of reports.
const (
	FormatText = "text"
	FormatHTML = "html"
	FormatJSON = "json"
	FormatMail = "mail"
	FormatSVG  = "svg"
	FormatPNG  = "png"
)

// ReportFormats lists them; the last two draw.
var ReportFormats = []string{FormatText, FormatHTML, FormatJSON, FormatCSV, FormatMail, FormatSVG, FormatPNG}

// ReportOptions say how a report is written.
type ReportOptions struct {
	Format string
	Table  string    // for CSV, which has room for one; "" = the first that does not sum up others
	Made   time.Time // when the report was made
	// Zone is the zone in which times are written where people read them; nil = UTC. CSV and JSON
	// have UTC.
	Zone *time.Location
	From string // of a mail, as To: see notify.Message
	To   []string
	// Row is called after each row; nil = not called.
	Row func()
}

// WriteReport writes a report. Its rows are read meanwhile and not kept.
func WriteReport(w io.Writer, r app.Report, o ReportOptions) error {
	if o.Row == nil {
		o.Row = func() {}
	}
	write, ok := writers[o.Format]
	if !ok {
		return fmt.Errorf("there is no format %q", o.Format)
	}
	return write(w, r, o)
}

var writers = map[string]func(io.Writer, app.Report, ReportOptions) error{
	FormatText: writeText, FormatHTML: writeHTML, FormatJSON: writeJSON, FormatCSV: writeCSV, FormatMail: writeMail, FormatSVG: draw, FormatPNG: draw,
}

// TableOf returns a table of a report by its name, "" = the first that does not sum up others.
func TableOf(r app.Report, name string) (app.Table, error) {
	i := slices.IndexFunc(r.Tables, func(t app.Table) bool { return t.Name == name || name == "" && !t.Sum })
	if i >= 0 {
		return r.Tables[i], nil
	}
	var known []string
	for _, t := range r.Tables {
		known = append(known, t.Name)
	}
	return app.Table{}, fmt.Errorf("the report %s has no table %q: choose one of %s", r.Name, name, strings.Join(known, ", "))
}

func writeCSV(w io.Writer, r app.Report, o ReportOptions) error {
	t, err := TableOf(r, o.Table)
	if err != nil {
		return err
	}
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	out, err := NewCSV(w, names...)
	if err != nil {
		return err
	}
	for row, err := range t.Rows {
		if err == nil {
			err = out.Row(row...)
		}
		if err != nil {
			return err
		}
		o.Row()
	}
	return out.Close()
}

// people returns a value as text: times to the second in the zone of the report, durations and
// shares with three digits.
func (o ReportOptions) people(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case float64:
		return strings.TrimSuffix(fmt.Sprintf("%.3f", v), ".000")
	case time.Time:
		if v.IsZero() {
			return ""
		}
		return v.In(o.zone()).Format("2006-01-02 15:04:05Z07:00")
	case string:
		return Line(v)
	default:
		return Line(fmt.Sprint(v))
	}
}

// asOf returns as of when a report is, "" = now.
func (o ReportOptions) asOf(r app.Report) string {
	if r.At == nil {
		return ""
	}
	return fmt.Sprintf("as of sequence %d of the log, %s", r.At.Seq, o.people(r.At.Stored))
}
