package export

import (
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/page"
)

// writeHTML writes a page that stands alone.
func writeHTML(to io.Writer, r app.Report, o ReportOptions) error {
	p := page.Page{Title: r.Title, Made: o.people(o.Made), Zone: o.zone().String()}
	for _, f := range r.Facts { // a batch has a title of its own
		if title := o.people(f.Value); f.Name == "erc_what" && title != "" {
			p.Title, p.About = title, r.Title
		}
	}
	if at := o.asOf(r); at != "" {
		p.Notes = []string{at}
	}
	for _, f := range r.Facts {
		p.Facts = append(p.Facts, page.Fact{Label: f.Label, Value: o.people(f.Value)})
	}
	for i, t := range r.Tables {
		columns := make([]string, 0, len(t.Columns))
		for _, c := range t.Columns {
			columns = append(columns, c.Label)
		}
		table := page.Table{Title: t.Title, None: t.None, Columns: columns}
		row := func([]any) { o.Row() }
		if d := drawingOf(r); d != nil && i == 0 && o.Format == FormatHTML {
			table.Figure, row = d.element, func(values []any) { d.add(values); o.Row() }
		}
		table.Rows = o.cells(t, row)
		p.Tables = append(p.Tables, table)
	}
	return p.Write(to)
}

// cells returns the rows of a table as a page shows them, and calls done after each.
func (o ReportOptions) cells(t app.Table, done func(row []any)) iter.Seq2[[]page.Cell, error] {
	return func(yield func([]page.Cell, error) bool) {
		for row, err := range t.Rows {
			shown := make([]page.Cell, 0, len(row))
			for _, v := range row {
				shown = append(shown, o.cell(v))
			}
			if !yield(shown, err) {
				return
			}
			done(row)
		}
	}
}

// cell returns a value as a page shows it: numbers at the right, with a separator of thousands.
func (o ReportOptions) cell(v any) page.Cell {
	switch v := v.(type) {
	case int64:
		return page.Cell{Text: page.Count(v), Number: true}
	case float64:
		whole, rest, _ := strings.Cut(strconv.FormatFloat(v, 'f', 3, 64), ".")
		if n, err := strconv.ParseInt(whole, 10, 64); err == nil && n != 0 { // 0 may have a sign
			whole = page.Count(n)
		}
		return page.Cell{Text: whole + "." + rest, Number: true}
	default:
		return page.Cell{Text: o.people(v)}
	}
}
