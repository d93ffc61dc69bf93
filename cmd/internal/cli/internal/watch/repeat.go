package watch

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

// repeatEvery is the pause between two states.
const repeatEvery = 2 * time.Second

// Screen is where a state is shown again and again.
type Screen struct {
	Out      io.Writer
	Terminal bool // each state takes the place of the one before
	JSON     bool // one line for each state
}

// Repeat shows what look returns again and again until ctx ends.
func Repeat[V any](ctx context.Context, s Screen, what string, look func() (V, error), write func(io.Writer, V)) error {
	lines := export.NewJSONLines(s.Out)
	for {
		v, err := look()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case err != nil:
		case s.JSON:
			err = lines.Write(v)
		case s.Terminal:
			err = render.Overwrite(s.Out, func(w io.Writer) { write(w, v) })
		default:
			_, err = fmt.Fprintf(s.Out, "%s at %s\n\n", what, render.Time(time.Now()))
			write(s.Out, v)
			fmt.Fprintln(s.Out)
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(repeatEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
