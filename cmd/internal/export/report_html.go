package export

import (
	"io"
	"iter"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/page"
)

// writeHTML writes a page that stands alone.
func writeHTML(to io.Writer, r app.Report, o ReportOptions) error {
	p := page.Page{Title: r.Title, Made: people(o.Made)}
	if at := asOf(r); at != "" {
		p.Notes = []string{at}
	}
	for _, f := range r.Facts {
		p.Facts = append(p.Facts, page.Fact{Label: f.Label, Value: people(f.Value)})
	}
	for _, t := range r.Tables {
		columns := make([]string, 0, len(t.Columns))
		for _, c := range t.Columns {
			columns = append(columns, c.Label)
		}
		p.Tables = append(p.Tables, page.Table{Title: t.Title, None: t.None, Columns: columns, Rows: cells(t, o.Row)})
	}
	return p.Write(to)
}

// cells returns the rows of a table as a page shows them, and calls done after each.
func cells(t app.Table, done func()) iter.Seq2[[]page.Cell, error] {
	return func(yield func([]page.Cell, error) bool) {
		for row, err := range t.Rows {
			shown := make([]page.Cell, 0, len(row))
			for _, v := range row {
				shown = append(shown, page.Cell{Text: people(v), Number: isNumber(v)})
			}
			if !yield(shown, err) {
				return
			}
			done()
		}
	}
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, float64:
		return true
	}
	return false
}
