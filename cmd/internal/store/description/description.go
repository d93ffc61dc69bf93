// Package description makes the descriptions that are added to each object: a citation, and Dublin
// Core.
package description

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain/text"
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

// Encode returns the citation as ANVL. The percent sign and control characters
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
	for i, w := range e.Where {
		if !slices.Contains(e.Where[:i], w) {
			element("where", w)
		}
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
		if r != '%' && text.KindOf(r) == text.Plain {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(string(r)) {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// lineBreak reports whether a reader may take a character for the end of a line.
func lineBreak(r rune) bool { return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r) }

// DublinCoreName is the name of the description that is added to each object.
const DublinCoreName = "accession-dc.xml"

// DublinCore is a description in the simple Dublin Core elements. Empty and repeated
// values are left out.
type DublinCore struct {
	XMLName    xml.Name `xml:"metadata"`
	Namespace  string   `xml:"xmlns:dc,attr"` // set by Encode
	Title      []string `xml:"dc:title"`
	Creator    []string `xml:"dc:creator"`
	Publisher  []string `xml:"dc:publisher"`
	Date       []string `xml:"dc:date"`
	Identifier []string `xml:"dc:identifier"`
}

// Encode returns the description as XML in UTF-8.
func (d DublinCore) Encode() ([]byte, error) {
	d.Namespace = "http://purl.org/dc/elements/1.1/"
	for _, values := range []*[]string{&d.Title, &d.Creator, &d.Publisher, &d.Date, &d.Identifier} {
		var kept []string // each once
		for _, v := range *values {
			if v = text.Lines(v); v != "" && !slices.Contains(kept, v) {
				kept = append(kept, v)
			}
		}
		*values = kept
	}
	body, err := xml.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode Dublin Core: %w", err)
	}
	return slices.Concat([]byte(xml.Header), body, []byte("\n")), nil
}
