// Package anvl reads and writes the text of EZID's requests and answers: name and value on
// each line, as A Name-Value Language has them, with percent signs for characters that would
// end a line or a name (https://ezid.cdlib.org/doc/apidoc.html).
package anvl

import (
	"fmt"
	"strconv"
	"strings"
)

// Element is a name with its value.
type Element struct{ Name, Value string }

// Encode returns the text of elements, a line each. Line and paragraph separators (U+2028,
// U+2029), which end a line and have no escape, become spaces.
func Encode(elements []Element) string {
	var b strings.Builder
	for _, e := range elements {
		escape(&b, e.Name, true)
		b.WriteString(": ")
		escape(&b, e.Value, false)
		b.WriteByte('\n')
	}
	return b.String()
}

func escape(b *strings.Builder, s string, name bool) {
	for _, r := range s {
		switch {
		case r == '\u2028' || r == '\u2029':
			b.WriteByte(' ')
		case r == '%', r < ' ', r >= 0x7f && r < 0xa0, name && r == ':':
			fmt.Fprintf(b, "%%%02X", r)
		default:
			b.WriteRune(r)
		}
	}
}

// Decode returns the elements of a text. Spaces around names and values do not count, nor do
// empty lines; a percent sign that starts no escape stands for itself. The error names the
// first line without a name.
func Decode(text string) (elements []Element, err error) {
	n := 0
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r", "\n"), "\n") {
		n++
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		e := Element{Name: unescape(name), Value: unescape(value)}
		if !ok || e.Name == "" {
			return nil, fmt.Errorf("line %d has no name and colon", n)
		}
		elements = append(elements, e)
	}
	return elements, nil
}

func unescape(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "%")
		b.WriteString(before)
		if !found {
			return strings.TrimSpace(strings.ToValidUTF8(b.String(), "\ufffd"))
		}
		n, err := strconv.ParseUint(after[:min(2, len(after))], 16, 8)
		if err != nil || len(after) < 2 || strings.ContainsAny(after[:2], "+-_") {
			b.WriteByte('%')
			s = after
			continue
		}
		b.WriteRune(rune(n))
		s = after[2:]
	}
}

// Answer is what EZID answers to a request.
type Answer struct {
	Success bool
	// Message is the rest of the first line: the identifier, or what is wrong.
	Message  string
	Elements []Element // what is known of the identifier
}

// DecodeAnswer returns an answer. The error says what of the text is not of this form.
func DecodeAnswer(text string) (a Answer, err error) {
	first, rest, _ := strings.Cut(strings.TrimLeft(text, "\r\n"), "\n")
	status, says, ok := strings.Cut(first, ":")
	a.Success, a.Message = status == "success", unescape(says)
	if !ok || !a.Success && status != "error" {
		return Answer{}, fmt.Errorf("the first line begins with neither %q nor %q", "success:", "error:")
	}
	a.Elements, err = Decode(rest)
	return a, err
}

// Value returns the value of the first element with a name, "" = there is none.
func (a Answer) Value(name string) string {
	for _, e := range a.Elements {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}
