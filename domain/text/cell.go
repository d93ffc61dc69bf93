package text

import (
	"strings"
	"unicode"
)

// Cell returns a text that is safe in a cell of a spreadsheet: what a spreadsheet would
// take for a formula gets an apostrophe before it, as the spreadsheets themselves mark
// text, and what is no text, but tab and line feed, is replaced. This also applies to
// what begins a cell in a spreadsheet that splits at another sign than the comma and
// then sees no quotes: behind a semicolon, comma, bar, tab or line feed.
func Cell(s string) string {
	if s == "" {
		return s
	}
	s = Lines(s)
	var b strings.Builder
	if s[0] == '\t' || s[0] == '\n' {
		b.WriteByte('\'')
	}
	from := true // a cell may begin here
	comma := false
	for _, r := range s {
		switch {
		case from && strings.ContainsRune(signs, r):
			b.WriteByte('\'')
			from = false
		case strings.ContainsRune(";|,\t\n", r):
			from, comma = true, r == ','
		case !skipped(r) || comma && r == ' ': // prose has a space behind its commas
			from = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// signs begin formulas; some spreadsheets accept their wide forms too.
const signs = "=+-@\uff1d\uff0b\uff0d\uff20"

// skipped reports whether a formula may still begin behind the character: a space or a
// quotation mark.
func skipped(r rune) bool { return unicode.IsSpace(r) || r == '"' }
