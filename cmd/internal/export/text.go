package export

import (
	"io"
	"slices"
	"unicode/utf8"

	"github.com/accession-ingest/accession/domain/text"
)

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
