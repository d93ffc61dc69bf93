package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

// statusEvery is the pause between two statuses.
const statusEvery = 2 * time.Second

// watchStatus shows the status again and again until ctx ends.
func (p *program) watchStatus(ctx context.Context, a *app.App) error {
	lines := export.NewJSONLines(p.Out)
	for {
		s := a.Status(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var err error
		switch {
		case p.output == "json":
			err = lines.Write(s)
		case p.Terminal:
			err = overwrite(p.Out, s)
		default:
			_, err = fmt.Fprintf(p.Out, "status at %s\n\n", render.Time(time.Now()))
			views.Status(p.Out, s)
			fmt.Fprintln(p.Out)
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(statusEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// What a terminal understands: the cursor to its top left, the rest of a line and the
// rest of the screen cleared.
const (
	cursorHome = "\x1b[H"
	clearLine  = "\x1b[K"
	clearBelow = "\x1b[J"
)

// overwrite writes a status over the one before it. The writer out lets nothing through but
// text: it is bypassed, and the status made safe before.
func overwrite(out io.Writer, s app.Status) error {
	var b bytes.Buffer
	var w io.Writer = export.NewPlain(&b)
	if screen, ok := out.(render.Screen); ok {
		w, out = render.Screen{Writer: w, Columns: screen.Columns}, screen.Writer
	}
	views.Status(w, s)
	_, err := io.WriteString(export.Unwrapped(out), cursorHome+strings.ReplaceAll(b.String(), "\n", clearLine+"\n")+clearBelow)
	return err
}
