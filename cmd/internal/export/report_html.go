package export

import (
	"bufio"
	"html/template"
	"io"
	"iter"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// page is complete: it fetches nothing, runs nothing, and prints with the head of a
// table on every sheet.
var page = template.Must(template.New("page").Funcs(template.FuncMap{"people": people, "isNumber": isNumber}).Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{.Title}}</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; padding: 0 1.5rem; max-width: 90rem; }
h1 { font-size: 1.5rem; line-height: 1.2; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.5rem; }
dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
.rows { overflow-x: auto; margin: 2rem 0; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; font-size: 1.15rem; font-weight: 600; padding: .4rem 0; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid #8886; overflow-wrap: break-word; max-width: 32rem; }
thead th { border-bottom: 2px solid #888; white-space: nowrap; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
footer { color: #666; font-size: .85rem; }
@media (prefers-color-scheme: dark) { footer { color: #aaa; } }
@media print {
  body { margin: 0; max-width: none; font-size: 9pt; }
  .rows { overflow: visible; }
  thead { display: table-header-group; }
  tr { break-inside: avoid; }
}
</style>
</head>
<body>
<header><h1>{{.Title}}</h1></header>
<main>
{{with .AsOf}}<p>{{.}}</p>
{{end}}<dl>
{{range .Facts}}{{if people .Value}}<dt>{{.Label}}</dt><dd>{{people .Value}}</dd>
{{end}}{{end}}</dl>
{{range .Tables}}<div class="rows" role="region" aria-label="{{.Title}}" tabindex="0">
<table>
<caption>{{.Title}}</caption>
<thead><tr>{{range .Columns}}<th scope="col">{{.Label}}</th>{{end}}</tr></thead>
<tbody>
{{range .Stream}}<tr>{{range .}}<td{{if isNumber .}} class="n"{{end}}>{{people .}}</td>{{end}}</tr>
{{else}}<tr><td colspan="{{len .Columns}}">{{.None}}</td></tr>
{{end}}</tbody>
</table>
</div>
{{end}}</main>
<footer><p>Made by Accession on {{people .Made}}.</p></footer>
</body>
</html>
`))

// pageData is what the page shows.
type pageData struct {
	app.Report
	ReportOptions
	AsOf   string
	Tables []pageTable
}

// pageTable is a table whose rows are read while the page is written.
type pageTable struct {
	app.Table
	row func()
	err *error // why the rows ended early
}

// Stream returns the rows up to the first error.
func (t pageTable) Stream() iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for row, err := range t.Rows {
			if *t.err = err; err != nil || !yield(row) {
				return
			}
			t.row()
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

// writeHTML writes a page that stands alone.
func writeHTML(to io.Writer, r app.Report, o ReportOptions) (err error) {
	data := pageData{Report: r, ReportOptions: o, AsOf: asOf(r)}
	for _, t := range r.Tables {
		data.Tables = append(data.Tables, pageTable{t, o.Row, &err})
	}
	w := bufio.NewWriter(to)
	if written := page.Execute(w, data); err == nil {
		err = written
	}
	if err != nil {
		return err
	}
	return w.Flush()
}
