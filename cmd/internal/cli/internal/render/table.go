package render

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Row is a row of a table, or its header.
type Row = table.Row

// Screen is a terminal with so many columns.
type Screen struct {
	io.Writer
	Columns int
}

const (
	whyWidth    = 72 // where reasons are wrapped, when there is room
	whyNarrow   = 30 // with less room, they stand below their row
	whatNarrow  = 12 // titles are cut to no less than that, or stand there too
	gap         = 2  // between columns
	belowIndent = "    "
)

// Rows writes a table with a row for each item, or none when there are no items. On a
// screen that is too narrow, titles (the column "what") are cut and reasons (the
// column "why") wrapped; what has too little room stands below its row.
func Rows[T any](w io.Writer, none string, header Row, items []T, row func(T) Row) {
	if len(items) == 0 {
		fmt.Fprintln(w, none)
		return
	}
	lines := make([]Row, len(items))
	for i, item := range items {
		lines[i] = row(item)
	}
	l := layout{columns: math.MaxInt32}
	if s, ok := w.(Screen); ok {
		l.columns = s.Columns
	}
	l.fit(header, lines)
	if len(l.below) == 0 {
		l.render(w, header, lines)
		return
	}
	var b strings.Builder
	l.render(&b, header, lines)
	n := -1 // the header
	for line := range strings.Lines(b.String()) {
		fmt.Fprint(w, line)
		for i := range header {
			if n < 0 || n >= len(lines) || !l.below[i] || fmt.Sprint(lines[n][i]) == "" {
				continue
			}
			for part := range strings.SplitSeq(text.WrapSoft(fmt.Sprint(lines[n][i]), l.columns-len(belowIndent)), "\n") {
				fmt.Fprintln(w, belowIndent+strings.TrimRight(part, " "))
			}
		}
		n++
	}
}

// layout is how a table fits into so many columns.
type layout struct {
	columns int
	below   map[int]bool         // columns of the table that stand below their row
	configs []table.ColumnConfig // of the others
}

func (l *layout) fit(header Row, lines []Row) {
	widths, used := make([]int, len(header)), -gap
	what, why := -1, -1
	for i, h := range header {
		for _, line := range append([]Row{header}, lines...) {
			widths[i] = max(widths[i], text.StringWidthWithoutEscSequences(fmt.Sprint(line[i])))
		}
		switch h {
		case "what":
			what = i
		case "why":
			why = i
			continue
		}
		used += widths[i] + gap
	}
	l.below = map[int]bool{}
	if over := used - l.columns; what >= 0 && over > 0 {
		if widths[what]-over < whatNarrow {
			l.below[what] = true
			used -= widths[what] + gap
		} else {
			l.configs = append(l.configs, table.ColumnConfig{Name: "what", WidthMax: widths[what] - over,
				WidthMaxEnforcer: func(col string, width int) string { return text.Snip(col, width, "…") }})
			used = l.columns
		}
	}
	if room := l.columns - used - gap; why >= 0 && widths[why] > room && room < whyNarrow {
		l.below[why] = true
	} else {
		l.configs = append(l.configs, table.ColumnConfig{Name: "why", WidthMax: min(room, whyWidth), WidthMaxEnforcer: text.WrapSoft})
	}
}

// render writes the columns that do not stand below.
func (l *layout) render(w io.Writer, header Row, lines []Row) {
	t := newTable(w)
	t.SetColumnConfigs(l.configs)
	beside := func(line Row) (row Row) {
		for i, cell := range line {
			if !l.below[i] {
				row = append(row, cell)
			}
		}
		return row
	}
	t.AppendHeader(beside(header))
	for _, line := range lines {
		t.AppendRow(beside(line))
	}
	t.Render()
}

// Pairs writes one name and value a line; empty values are left out.
func Pairs(w io.Writer, lines ...[2]any) {
	t := newTable(w)
	for _, l := range lines {
		if s := fmt.Sprint(l[1]); s != "" {
			t.AppendRow(Row{l[0], s})
		}
	}
	t.Render()
}

func newTable(w io.Writer) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatLower
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	return t
}

// Truncated reports that a list does not show everything, and how to see more.
func Truncated(w io.Writer, shown int, total int64, what, more string) {
	if int64(shown) < total {
		fmt.Fprintf(w, "\n%d of %d %s; %s for more\n", shown, total, what, more)
	}
}
