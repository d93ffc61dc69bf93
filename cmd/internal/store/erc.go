package store

import (
	"fmt"
	"strings"
	"unicode"
)

// ERCName is the name of the citation that is added to each object.
const ERCName = "accession-erc.txt"

// ERC is an electronic resource citation: who made what when, and where it is.
type ERC struct {
	Who, What, When string
	Where           []string // identifiers, the primary one first
}

// unavailable is what a citation says where nothing is known.
const unavailable = "(:unav)"

// Encode writes the citation as ANVL. The percent sign and control characters
// are percent-encoded; a line break within a value becomes a continuation line,
// so that no value can end the record or add an element.
func (e ERC) Encode() []byte {
	var b strings.Builder
	b.WriteString("erc:\n")
	element := func(name, value string) {
		if value = anvlValue(value); value == "" {
			value = unavailable
		}
		b.WriteString(name + ": " + value + "\n")
	}
	element("who", e.Who)
	element("what", e.What)
	element("when", e.When)
	for _, w := range e.Where {
		element("where", w)
	}
	if len(e.Where) == 0 {
		element("where", "")
	}
	return []byte(b.String())
}

func anvlValue(v string) string {
	var lines []string
	for line := range strings.FieldsFuncSeq(strings.ToValidUTF8(v, "\uFFFD"), lineBreak) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, anvlLine(line))
		}
	}
	return strings.Join(lines, "\n    ")
}

func anvlLine(line string) string {
	var b strings.Builder
	for _, r := range line {
		if r != '%' && !unicode.IsControl(r) {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(string(r)) {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// lineBreak tells what any reader may take for the end of a line.
func lineBreak(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}
