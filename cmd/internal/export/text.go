package export

import (
	"strings"
	"unicode/utf8"
)

// Cell makes a text safe to be a spreadsheet's cell: one that a spreadsheet would
// take for a formula gets an apostrophe before it, as the spreadsheets themselves
// mark text, and control characters but tab and line feed are replaced.
func Cell(s string) string {
	if s == "" {
		return s
	}
	s = plain(s, "\t\n")
	if strings.ContainsRune("=+-@\t\n"+fullWidth, first(s)) {
		return "'" + s
	}
	return s
}

// fullWidth are the wide forms of the signs, which some spreadsheets take for the
// signs themselves.
const fullWidth = "\uff1d\uff0b\uff0d\uff20"

func first(s string) rune { r, _ := utf8.DecodeRuneInString(s); return r }

// Line makes a text safe for a line of a terminal or a page: all control characters
// are replaced.
func Line(s string) string { return plain(s, "") }

// plain replaces control characters but those in keep, and what is no UTF-8.
func plain(s, keep string) string {
	return strings.Map(func(r rune) rune {
		if (r < 0x20 || r >= 0x7f && r < 0xa0) && !strings.ContainsRune(keep, r) {
			return utf8.RuneError
		}
		return r
	}, s)
}
