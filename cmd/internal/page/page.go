// Package page writes reports as HTML pages that stand alone: for a browser, a printer or a
// mail.
package page

import (
	"bufio"
	_ "embed" // the stylesheet
	"html/template"
	"io"
	"iter"
	"strconv"
)

// Page is a report. All texts are shown as they are, never as markup.
type Page struct {
	Title  string
	About  string   // what kind of page it is, below the title
	Notes  []string // what must be known to read it, a paragraph each
	Facts  []Fact   // those without a value are left out
	Tables []Table
	Made   string // when
	Zone   string // in which the times are
}

// Fact is a line about the whole report.
type Fact struct{ Label, Value string }

// Table is a table whose rows are read while the page is written. Rows end with an error when
// they cannot all be read.
type Table struct {
	Title, None string // None is shown when there are no rows
	Columns     []string
	Rows        iter.Seq2[[]Cell, error]
	// Figure draws the rows, after all of them were read, as SVG elements: one of the class wide, and
	// one of the class phone, which takes its place on narrow pages; nil = not drawn.
	Figure func() (template.HTML, error)
}

// Cell is a value in a table.
type Cell struct {
	Text   string
	Number bool // it stands at the right
}

// Count returns a number with a separator of thousands.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
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
section { display: flex; flex-direction: column; }
figure { order: -1; margin: 1.5rem 0 0; padding: .5rem; background: #fff; border: 1px solid var(--line); }
thead .n { text-align: right; }
figure svg { display: block; height: auto; max-width: 100%; margin: 0 auto; }
figure .phone { display: none; }
@media screen and (max-width: 40rem) { figure .wide { display: none; } figure .phone { display: block; } }
footer { color: var(--dim); font-size: .9rem; }
@media print { @page { size: landscape; margin: 1cm; } body { padding: 0; max-width: none; } }
</style>
</head>
<body>
<header><h1>{{.Title}}</h1>{{with .About}}
<p>{{.}}</p>{{end}}</header>
<main>
{{range .Notes}}<p>{{.}}</p>
{{end}}<dl>
{{range .Facts}}{{if .Value}}<dt>{{.Label}}</dt><dd>{{.Value}}</dd>
{{end}}{{end}}</dl>
{{range $table := .Tables}}<section>
<div class="rows" role="region" aria-label="{{.Title}}" tabindex="0">
<table>
<caption>{{.Title}}</caption>
{{range $n, $row := .Stream}}{{if eq $n 0}}{{template "heads" ($table.Heads $row)}}
<tbody>
{{end}}<tr>{{range $row}}<td{{if .Number}} class="n"{{end}}>{{.Text}}</td>{{end}}</tr>
{{else}}{{template "heads" (.Heads nil)}}
<tbody>
<tr><td colspan="{{len .Columns}}">{{.None}}</td></tr>
{{end}}</tbody>
</table>
</div>
{{if .Figure}}<figure>{{call .Figure}}</figure>
{{end}}</section>
{{end}}</main>
<footer><p>Made by Accession on {{.Made}}.{{with .Zone}} Times are in {{.}}.{{end}}</p></footer>
</body>
</html>
{{define "heads"}}<thead><tr>{{range .}}<th scope="col"{{if .Number}} class="n"{{end}}>{{.Text}}</th>{{end}}</tr></thead>{{end}}`))

// table is a Table whose error is kept.
type table struct {
	Table
	err *error
}

// Heads returns the heads of the columns; those above numbers, as the first row has them, stand at
// the right too.
func (t table) Heads(first []Cell) []Cell {
	heads := make([]Cell, 0, len(t.Columns))
	for i, name := range t.Columns {
		heads = append(heads, Cell{Text: name, Number: i < len(first) && first[i].Number})
	}
	return heads
}

// Stream returns the rows up to the first error, each with its number from 0.
func (t table) Stream() iter.Seq2[int, []Cell] {
	return func(yield func(int, []Cell) bool) {
		n := 0
		for row, err := range t.Rows {
			if *t.err = err; err != nil || !yield(n, row) {
				return
			}
			n++
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
