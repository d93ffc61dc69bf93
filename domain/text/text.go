// Package text says which characters a text of others may hold, and shows a text that
// holds others so that it does no harm.
//
// Three kinds of characters are not text:
//
//   - control characters (C0, DEL, C1) and the line and paragraph separators, which a
//     terminal obeys and which end a line of a log, a header or a table;
//   - bidirectional controls, which make a reader see another order than a program does;
//   - invisible characters: of zero width, fillers, tags, noncharacters.
//
// Intake refuses such a text ([Check]), or removes what cannot be seen and warns
// ([Strip]). What is already there is shown with [Line] or [Lines]. docs/operating.md
// has a table of the fields.
package text

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is a kind of characters.
type Kind int

// The kinds of characters.
const (
	Plain Kind = iota // text
	Control
	Bidirectional
	Invisible
)

var names = map[Kind]string{Control: "a control character", Bidirectional: "a bidirectional control", Invisible: "an invisible character"}

// KindOf returns the kind of a character.
func KindOf(r rune) Kind {
	switch {
	case r >= ' ' && r < 0x7f:
		return Plain
	case r < 0xa0, r == '\u2028', r == '\u2029':
		return Control
	case r < 0xad:
		return Plain
	case unicode.Is(unicode.Bidi_Control, r):
		return Bidirectional
	case unicode.Is(unicode.Variation_Selector, r): // chooses the form of the character before it
		return Plain
	case unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r),
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point):
		return Invisible
	}
	return Plain
}

// Error is the first character of a text that is not allowed.
type Error struct {
	Kind   Kind // Plain: the text is not UTF-8
	Rune   rune
	Offset int // in bytes
}

// Error returns what is wrong and what to do: "holds …; remove it".
func (e *Error) Error() string {
	if e.Kind == Plain {
		return "is not UTF-8; write it in UTF-8"
	}
	what := names[e.Kind]
	if strings.ContainsRune("\n\r\u2028\u2029", e.Rune) {
		what = "a line break"
	}
	return fmt.Sprintf("holds %s, %U; remove it", what, e.Rune)
}

// Check returns nil if s is UTF-8 on one line without control, bidirectional and
// invisible characters, else an *[Error] with the first one.
func Check(s string) error {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return &Error{Offset: i}
			}
		}
		if k := KindOf(r); k != Plain {
			return &Error{Kind: k, Rune: r, Offset: i}
		}
	}
	return nil
}

// Valid reports whether [Check] finds nothing.
func Valid(s string) bool { return Check(s) == nil }

// Strip returns s without bidirectional and invisible characters, and reports whether
// there were any.
func Strip(s string) (stripped string, changed bool) {
	stripped = strings.Map(func(r rune) rune {
		if k := KindOf(r); k == Bidirectional || k == Invisible {
			return -1
		}
		return r
	}, s)
	return stripped, stripped != s
}

// Line returns s as one line that is safe to show: each character that [Check] refuses,
// and each byte that is not UTF-8, becomes U+FFFD, the replacement character.
func Line(s string) string { return replace(s, "") }

// Lines is Line for a text of several lines: it keeps line feeds and tabs.
func Lines(s string) string { return replace(s, "\n\t") }

func replace(s, keep string) string {
	return strings.Map(func(r rune) rune {
		if KindOf(r) != Plain && !strings.ContainsRune(keep, r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// Distinct returns a list without repetitions, each text where it is first.
func Distinct(list []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { defer func() { seen[s] = true }(); return seen[s] })
}
