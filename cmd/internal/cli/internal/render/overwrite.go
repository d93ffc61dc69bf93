package render

import (
	"bytes"
	"io"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/export"
)

// What a terminal understands: the cursor to its top left, the rest of a line and the
// rest of the screen cleared.
const (
	cursorHome = "\x1b[H"
	clearLine  = "\x1b[K"
	clearBelow = "\x1b[J"
)

// Overwrite writes a text over the one before it. The writer out lets nothing through but
// text: it is bypassed, and the text made safe before.
func Overwrite(out io.Writer, write func(io.Writer)) error {
	var b bytes.Buffer
	var w io.Writer = export.NewPlain(&b)
	if screen, ok := out.(Screen); ok {
		w, out = Screen{Writer: w, Columns: screen.Columns}, screen.Writer
	}
	write(w)
	_, err := io.WriteString(export.Unwrapped(out), cursorHome+strings.ReplaceAll(b.String(), "\n", clearLine+"\n")+clearBelow)
	return err
}
