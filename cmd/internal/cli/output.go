package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
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
