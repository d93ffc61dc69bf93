package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// screen is a terminal of so many columns.
type screen struct {
	io.Writer
	columns int
}

// columnsOf gives the width of a terminal, 0 for anything else.
func columnsOf(f *os.File) int {
	if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
		return columns
	}
	return 0
}

const (
	whyWidth    = 72 // where sentences are broken in tables, when there is room
	whyNarrow   = 30 // less than that, and they stand below their row
	whatNarrow  = 12 // titles are cut to no less than that, or stand there too
	gap         = 2  // between columns
	belowIndent = "    "
)

// fit writes a table as wide as the screen. When it is too wide, titles (in a
// column "what" or "title") are cut, and reasons (in "why") broken; what finds too
// little room stands below its row.
func (s screen) fit(header []any, lines [][]any) {
	widths, used := make([]int, len(header)), -gap
	what, why := -1, -1
	for i, h := range header {
		widths[i] = text.StringWidthWithoutEscSequences(fmt.Sprint(h))
		for _, line := range lines {
			widths[i] = max(widths[i], text.StringWidthWithoutEscSequences(fmt.Sprint(line[i])))
		}
		switch h {
		case "what", "title":
			what = i
		case "why":
			why = i
			continue
		}
		used += widths[i] + gap
	}
	below := map[int]bool{}
	var columns []table.ColumnConfig
	if over := used - s.columns; what >= 0 && over > 0 {
		if widths[what]-over < whatNarrow {
			below[what] = true
			used -= widths[what] + gap
		} else {
			columns = append(columns, table.ColumnConfig{Name: fmt.Sprint(header[what]), WidthMax: widths[what] - over,
				WidthMaxEnforcer: func(col string, width int) string { return text.Snip(col, width, "…") }})
			used = s.columns
		}
	}
	if room := s.columns - used - gap; why >= 0 && widths[why] > room && room < whyNarrow {
		below[why] = true
	} else {
		columns = append(columns, table.ColumnConfig{Name: "why", WidthMax: min(room, whyWidth), WidthMaxEnforcer: text.WrapSoft})
	}
	if len(below) == 0 {
		s.table(s, header, lines, columns, below)
		return
	}
	var b strings.Builder
	s.table(&b, header, lines, columns, below)
	n := -1 // the header
	for row := range strings.Lines(b.String()) {
		fmt.Fprint(s, row)
		for i := range header {
			if n < 0 || n >= len(lines) || !below[i] || fmt.Sprint(lines[n][i]) == "" {
				continue
			}
			for part := range strings.SplitSeq(text.WrapSoft(fmt.Sprint(lines[n][i]), s.columns-len(belowIndent)), "\n") {
				fmt.Fprintln(s, belowIndent+strings.TrimRight(part, " "))
			}
		}
		n++
	}
}

// table writes the columns that do not stand below.
func (screen) table(w io.Writer, header []any, lines [][]any, columns []table.ColumnConfig, below map[int]bool) {
	t := newTable(w)
	t.SetColumnConfigs(columns)
	beside := func(line []any) (row table.Row) {
		for i, cell := range line {
			if !below[i] {
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
