package cli

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/accession-ingest/accession/cmd/internal/export"
)

// screen is a terminal with so many columns.
type screen struct {
	io.Writer
	columns int
}

const (
	whyWidth    = 72 // where reasons are wrapped, when there is room
	whyNarrow   = 30 // with less room, they stand below their row
	whatNarrow  = 12 // titles are cut to no less than that, or stand there too
	gap         = 2  // between columns
	belowIndent = "    "
)

// rows writes a table with a row for each item, or none when there are no items. On a
// screen that is too narrow, titles (the column "what") are cut and reasons (the
// column "why") wrapped; what has too little room stands below its row.
func rows[T any](w io.Writer, none string, header table.Row, items []T, row func(T) table.Row) {
	if len(items) == 0 {
		fmt.Fprintln(w, none)
		return
	}
	lines := make([]table.Row, len(items))
	for i, item := range items {
		lines[i] = row(item)
	}
	l := layout{columns: math.MaxInt32}
	if s, ok := w.(screen); ok {
		l.columns = s.columns
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

func (l *layout) fit(header table.Row, lines []table.Row) {
	widths, used := make([]int, len(header)), -gap
	what, why := -1, -1
	for i, h := range header {
		for _, line := range append([]table.Row{header}, lines...) {
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
func (l *layout) render(w io.Writer, header table.Row, lines []table.Row) {
	t := newTable(w)
	t.SetColumnConfigs(l.configs)
	beside := func(line table.Row) (row table.Row) {
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

// pairs writes one name and value a line; empty values are left out.
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

// truncated reports that a list does not show everything, and how to see more.
func truncated(w io.Writer, shown int, total int64, what, more string) {
	if int64(shown) < total {
		fmt.Fprintf(w, "\n%d of %d %s; %s for more\n", shown, total, what, more)
	}
}

// at formats a time: in the local zone, to the second.
func at[T interface {
	IsZero() bool
	Local() time.Time
}](t T) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}

// deref returns what v points to, or the zero value.
func deref[T any](v *T) (zero T) {
	if v == nil {
		return zero
	}
	return *v
}

// or returns what v points to, or none.
func or[T any](v *T, none string) any {
	if v == nil {
		return none
	}
	return *v
}

// why formats a reason, "" when there is none.
func why(code, message *string) string {
	if code == nil {
		return ""
	}
	return *code + ": " + export.Line(deref(message))
}

// classified is why with the reason's class.
func classified(code, class, message *string) string {
	if code == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s): %s", *code, deref(class), export.Line(deref(message)))
}

// stateChange formats a change of state; the first one has no state before it.
func stateChange(from, to string) string {
	if from == "" {
		from = "–"
	}
	return from + " → " + to
}

// took formats how long a state lasted, "" when that is not known.
func took(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	return fmt.Sprintf("%.3f s", *seconds)
}

// rounded formats a duration with the precision that people want.
func rounded(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
