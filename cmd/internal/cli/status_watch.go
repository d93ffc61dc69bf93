package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

// statusEvery is the pause between two statuses.
const statusEvery = 2 * time.Second

// repeated shows what look returns again and again until ctx ends.
func repeated[V any](ctx context.Context, p *program, what string, look func() (V, error), write func(io.Writer, V)) error {
	lines := export.NewJSONLines(p.Out)
	for {
		v, err := look()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case err != nil:
		case p.output == "json":
			err = lines.Write(v)
		case p.Terminal:
			err = render.Overwrite(p.Out, func(w io.Writer) { write(w, v) })
		default:
			_, err = fmt.Fprintf(p.Out, "%s at %s\n\n", what, render.Time(time.Now()))
			write(p.Out, v)
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
