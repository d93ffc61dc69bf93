package export

import (
	"bufio"
	"fmt"
	"html"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// pageHead is all that a page needs: it fetches nothing, runs nothing, and prints
// with the head of a table on every sheet. %[1]s is the title.
const pageHead = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>%[1]s</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; padding: 0 1.5rem; max-width: 90rem; }
h1 { font-size: 1.5rem; line-height: 1.2; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.5rem; }
dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
.rows { overflow-x: auto; margin: 2rem 0; }
table { border-collapse: collapse; width: 100%%; }
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
<header><h1>%[1]s</h1></header>
<main>
`

// writeHTML writes a page that stands alone.
func writeHTML(to io.Writer, r app.Report, o ReportOptions) error {
	w := bufio.NewWriter(to)
	fmt.Fprintf(w, pageHead, safe(r.Title))
	if s := asOf(r); s != "" {
		fmt.Fprintf(w, "<p>%s</p>\n", safe(s))
	}
	fmt.Fprintln(w, "<dl>")
	for _, f := range r.Facts {
		if s := people(f.Value); s != "" {
			fmt.Fprintf(w, "<dt>%s</dt><dd>%s</dd>\n", safe(f.Label), safe(s))
		}
	}
	fmt.Fprintln(w, "</dl>")
	for _, t := range r.Tables {
		if err := htmlTable(w, t, o); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "</main>\n<footer><p>Made by Accession on %s.</p></footer>\n</body>\n</html>\n", safe(people(o.Made)))
	return w.Flush()
}

func htmlTable(w *bufio.Writer, t app.Table, o ReportOptions) error {
	fmt.Fprintf(w, "<div class=\"rows\" role=\"region\" aria-label=\"%s\" tabindex=\"0\">\n<table>\n<caption>%s</caption>\n<thead><tr>", safe(t.Title), safe(t.Title))
	for _, c := range t.Columns {
		fmt.Fprintf(w, "<th scope=\"col\">%s</th>", safe(c.Label))
	}
	fmt.Fprint(w, "</tr></thead>\n<tbody>\n")
	n := 0
	for row, err := range t.Rows {
		if err != nil {
			return err
		}
		fmt.Fprint(w, "<tr>")
		for _, v := range row {
			class := ""
			switch v.(type) {
			case int64, float64:
				class = ` class="n"`
			}
			fmt.Fprintf(w, "<td%s>%s</td>", class, safe(people(v)))
		}
		if _, err := fmt.Fprint(w, "</tr>\n"); err != nil {
			return err
		}
		n++
		o.Row()
	}
	if n == 0 {
		fmt.Fprintf(w, "<tr><td colspan=\"%d\">%s</td></tr>\n", len(t.Columns), safe(t.None))
	}
	_, err := fmt.Fprint(w, "</tbody>\n</table>\n</div>\n")
	return err
}

func safe(s string) string { return html.EscapeString(s) }
