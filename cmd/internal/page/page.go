// Package page writes reports as HTML pages that stand alone: for a browser, a printer or a
// mail.
package page

import (
	"bufio"
	"html/template"
	"io"
	"iter"
)

// Page is a report. All texts are shown as they are, never as markup.
type Page struct {
	Title  string
	Notes  []string // what must be known to read it, a paragraph each
	Facts  []Fact   // those without a value are left out
	Tables []Table
	Made   string // when
}

// Fact is a line about the whole report.
type Fact struct{ Label, Value string }

// Table is a table whose rows are read while the page is written. Rows end with an error when
// they cannot all be read.
type Table struct {
	Title, None string // None is shown when there are no rows
	Columns     []string
	Rows        iter.Seq2[[]Cell, error]
}

// Cell is a value in a table.
type Cell struct {
	Text   string
	Number bool // it stands at the right
}

// whole is complete: it fetches nothing, runs nothing, and prints with the head of a
// table on every sheet.
var whole = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{.Title}}</title>
<style>
:root { color-scheme: light dark; background: #fff; color: #111; }
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
@media (prefers-color-scheme: dark) { :root { background: #121212; color: #eee; } footer { color: #aaa; } }
@media print {
  :root { background: #fff; color: #000; }
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
{{range .Notes}}<p>{{.}}</p>
{{end}}<dl>
{{range .Facts}}{{if .Value}}<dt>{{.Label}}</dt><dd>{{.Value}}</dd>
{{end}}{{end}}</dl>
{{range .Tables}}<div class="rows" role="region" aria-label="{{.Title}}" tabindex="0">
<table>
<caption>{{.Title}}</caption>
<thead><tr>{{range .Columns}}<th scope="col">{{.}}</th>{{end}}</tr></thead>
<tbody>
{{range .Stream}}<tr>{{range .}}<td{{if .Number}} class="n"{{end}}>{{.Text}}</td>{{end}}</tr>
{{else}}<tr><td colspan="{{len .Columns}}">{{.None}}</td></tr>
{{end}}</tbody>
</table>
</div>
{{end}}</main>
<footer><p>Made by Accession on {{.Made}}.</p></footer>
</body>
</html>
`))

// table is a Table whose error is kept.
type table struct {
	Table
	err *error
}

// Stream returns the rows up to the first error.
func (t table) Stream() iter.Seq[[]Cell] {
	return func(yield func([]Cell) bool) {
		for row, err := range t.Rows {
			if *t.err = err; err != nil || !yield(row) {
				return
			}
		}
	}
}

// Write writes the page. The error is one of the rows or of w.
func (p Page) Write(w io.Writer) (err error) {
	data := struct {
		Page
		Tables []table
	}{Page: p}
	for _, t := range p.Tables {
		data.Tables = append(data.Tables, table{t, &err})
	}
	out := bufio.NewWriter(w)
	if written := whole.Execute(out, data); err == nil {
		err = written
	}
	if err != nil {
		return err
	}
	return out.Flush()
}
