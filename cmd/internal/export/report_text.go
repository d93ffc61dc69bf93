package export

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// lookAhead is how many rows decide how wide the columns are.
const lookAhead = 200

// writeText writes tables with aligned columns. Longer cells further down push the
// rest of their row to the right.
func writeText(to io.Writer, r app.Report, o ReportOptions) error {
	w := bufio.NewWriter(to)
	fmt.Fprintf(w, "%s\n%s\n", r.Title, strings.Repeat("=", utf8.RuneCountInString(r.Title)))
	if s := o.asOf(r); s != "" {
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
		if s := o.people(f.Value); s != "" {
			fmt.Fprintf(w, "%-*s  %s\n", widest, f.Label, s)
		}
	}
	for _, t := range r.Tables {
		fmt.Fprintf(w, "\n%s\n%s\n", t.Title, strings.Repeat("-", utf8.RuneCountInString(t.Title)))
		if err := textTable(w, t, o); err != nil {
			return err
		}
	}
	if o.zone() != time.UTC { // otherwise each has a Z
		fmt.Fprintf(w, "\nTimes are in %s.\n", o.zone())
	}
	return w.Flush()
}

func textTable(w *bufio.Writer, t app.Table, o ReportOptions) error {
	header := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		header[i] = c.Label
	}
	waiting, n := [][]string{header}, 0 // until the columns' widths are known
	var widths []int
	flush := func() {
		if widths == nil {
			widths = widthsOf(waiting)
		}
		for _, cells := range waiting {
			line := ""
			for i, c := range cells {
				line += fmt.Sprintf("%-*s  ", widths[i], c)
			}
			fmt.Fprintln(w, strings.TrimRight(line, " "))
		}
		waiting = nil
	}
	for row, err := range t.Rows {
		if err != nil {
			return err
		}
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = o.people(v)
		}
		waiting = append(waiting, cells)
		if n++; n >= lookAhead {
			flush()
		}
		o.Row()
	}
	if n == 0 {
		fmt.Fprintln(w, t.None)
		return nil
	}
	flush()
	return nil
}

// widthsOf returns the widths of columns, up to 60.
func widthsOf(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, c := range cells {
			widths[i] = max(widths[i], min(utf8.RuneCountInString(c), 60))
		}
	}
	return widths
}
