package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// show writes v as JSON, or lets asTable write it for people.
func (p *program) show(v any, asTable func(w io.Writer)) error {
	if p.output == "json" {
		enc := json.NewEncoder(p.Out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	}
	asTable(p.Out)
	return nil
}

// rows writes a table with a header; none says what to write when it is empty.
func rows(w io.Writer, none string, header []any, lines [][]any) {
	if len(lines) == 0 {
		fmt.Fprintln(w, none)
		return
	}
	if s, ok := w.(screen); ok {
		s.fit(header, lines)
		return
	}
	t := newTable(w)
	t.SetColumnConfigs([]table.ColumnConfig{{Name: "why", WidthMax: whyWidth, WidthMaxEnforcer: text.WrapSoft}})
	t.AppendHeader(header)
	for _, line := range lines {
		t.AppendRow(line)
	}
	t.Render()
}

// pairs writes names and values below each other; empty values are left out.
func pairs(w io.Writer, lines ...[2]any) {
	t := newTable(w)
	for _, l := range lines {
		if s := fmt.Sprint(l[1]); s != "" {
			t.AppendRow(table.Row{l[0], s})
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

// at shows a time for people: in the local zone, to the second.
func at[T interface {
	IsZero() bool
	Local() time.Time
}](t T) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// atPtr is at for a time that may be missing.
func atPtr(t *time.Time) string {
	if t == nil {
		return ""
	}
	return at(*t)
}

// oneOf refuses a flag's value that is not in the list; empty is no value.
func oneOf[T ~string](command, flag string, value T, list []T) error {
	if value == "" || slices.Contains(list, value) {
		return nil
	}
	return &usageError{fmt.Errorf("%s %q: there is only %s", flag, value, strings.Join(toStrings(list), ", ")), command}
}

func toStrings[T ~string](list []T) []string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return words
}

// lasting shows a duration with the precision that people want.
func lasting(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	default:
		return d.Round(time.Second).String()
	}
}

// printable takes control characters out of what strangers wrote, so that a
// terminal shows it and does nothing else.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return '�'
		}
		return r
	}, s)
}

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
