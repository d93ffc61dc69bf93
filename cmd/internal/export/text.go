package export

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cell returns a text that is safe in a cell of a spreadsheet: what a spreadsheet would
// take for a formula gets an apostrophe before it, as the spreadsheets themselves mark
// text, and control characters but tab and line feed are replaced. This also applies to
// what begins a cell in a spreadsheet that splits at another sign than the comma and
// then sees no quotes: behind a semicolon, comma, bar, tab or line feed.
func Cell(s string) string {
	if s == "" {
		return s
	}
	s = plain(s, "\t\n")
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

// skipped reports whether a formula may still begin behind the character: a space, also
// one without width, or a quotation mark.
func skipped(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("\"\u200b\u200c\u200d\u2060\ufeff", r)
}

// Line returns a text that is safe in a line of a terminal or a page: all control
// characters are replaced.
func Line(s string) string { return plain(s, "") }

// plain replaces control characters but those in keep, and invalid UTF-8.
func plain(s, keep string) string {
	return strings.Map(func(r rune) rune {
		if (r < 0x20 || r >= 0x7f && r < 0xa0) && !strings.ContainsRune(keep, r) {
			return utf8.RuneError
		}
		return r
	}, s)
}
