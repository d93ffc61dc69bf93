// Package page writes reports as HTML pages that stand alone: for a browser, a printer or a
// mail.
package page

import (
	"bufio"
	_ "embed" // the stylesheet
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

// Design is the stylesheet of everything that people read: of these pages, and of the console.
//
//go:embed design.css
var Design string

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
` + Design + `body { margin: 0 auto; max-width: 90rem; padding: 1rem clamp(1rem, 3vw, 2.5rem) 3rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) minmax(0, 1fr); gap: .2rem 1.5rem; }
dt { color: var(--dim); }
dd { margin: 0; }
footer { color: var(--dim); font-size: .9rem; }
@media print { body { padding: 0; max-width: none; } }
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
