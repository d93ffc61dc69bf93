package export

import (
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/accession-ingest/accession/domain/text"
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
	s = text.Lines(s)
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

// Line returns a text that is safe in a line of a terminal or a page: see [text.Line].
func Line(s string) string { return text.Line(s) }

// Plain is a writer of text for people: what a terminal would obey, or a reader would not see,
// is replaced as [text.Lines] does, however the text is divided into writes. It is the
// last line of defence; what is written should be safe before.
type Plain struct {
	to   io.Writer
	rest []byte // of a character that is not complete yet
}

// NewPlain returns a writer to w.
func NewPlain(w io.Writer) *Plain { return &Plain{to: w} }

// Unwrap returns the writer behind it, for what is no text: images, and bars that move
// the cursor.
func (p *Plain) Unwrap() io.Writer { return p.to }

// Write implements io.Writer.
func (p *Plain) Write(data []byte) (int, error) {
	all := slices.Concat(p.rest, data)
	end := len(all)
	for n := 1; n < utf8.UTFMax && n <= len(all); n++ {
		if utf8.RuneStart(all[len(all)-n]) {
			if !utf8.FullRune(all[len(all)-n:]) {
				end -= n
			}
			break
		}
	}
	p.rest = append([]byte(nil), all[end:]...)
	if _, err := io.WriteString(p.to, text.Lines(string(all[:end]))); err != nil {
		return 0, err
	}
	return len(data), nil
}

// Unwrapped returns the writer behind a [Plain], or w itself.
func Unwrapped(w io.Writer) io.Writer {
	if p, ok := w.(interface{ Unwrap() io.Writer }); ok {
		return p.Unwrap()
	}
	return w
}
