package export

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// lookAhead is how many rows are looked at to find out how wide columns are.
const lookAhead = 200

// writeText writes tables with columns below each other. Longer cells further down
// push the rest of their row to the right.
func writeText(to io.Writer, r app.Report, o ReportOptions) error {
	w := bufio.NewWriter(to)
	fmt.Fprintf(w, "%s\n%s\n", r.Title, strings.Repeat("=", utf8.RuneCountInString(r.Title)))
	if s := asOf(r); s != "" {
		fmt.Fprintf(w, "\n%s\n", s)
	}
	widest := 0
	for _, f := range r.Facts {
		widest = max(widest, len(f.Label))
	}
	if len(r.Facts) > 0 {
		fmt.Fprintln(w)
	}
	for _, f := range r.Facts {
		if s := people(f.Value); s != "" {
			fmt.Fprintf(w, "%-*s  %s\n", widest, f.Label, s)
		}
	}
	for _, t := range r.Tables {
		fmt.Fprintf(w, "\n%s\n%s\n", t.Title, strings.Repeat("-", utf8.RuneCountInString(t.Title)))
		if err := textTable(w, t, o); err != nil {
			return err
		}
	}
	return w.Flush()
}

func textTable(w *bufio.Writer, t app.Table, o ReportOptions) error {
	widths := make([]int, len(t.Columns))
	header := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		header[i], widths[i] = c.Label, utf8.RuneCountInString(c.Label)
	}
	held, out := make([][]string, 0, lookAhead), false
	line := func(cells []string) {
		text := ""
		for i, c := range cells {
			text += c + strings.Repeat(" ", max(widths[i]-utf8.RuneCountInString(c), 0)+2)
		}
		fmt.Fprintln(w, strings.TrimRight(text, " "))
	}
	begin := func() {
		for _, cells := range held {
			for i, c := range cells {
				widths[i] = max(widths[i], min(utf8.RuneCountInString(c), 60))
			}
		}
		line(header)
		for _, cells := range held {
			line(cells)
		}
		held, out = nil, true
	}
	for row, err := range t.Rows {
		if err != nil {
			return err
		}
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = people(v)
		}
		switch held = append(held, cells); {
		case out:
			held = nil
			line(cells)
		case len(held) == lookAhead:
			begin()
		}
		o.Row()
	}
	switch {
	case !out && len(held) > 0:
		begin()
	case !out:
		fmt.Fprintln(w, t.None)
	}
	return nil
}
