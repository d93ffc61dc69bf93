package views

import (
	"fmt"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

// Changed writes what was changed, or would be, and unless left out the further consequences.
func Changed(w io.Writer, id string, c app.Changed, effects bool) {
	fmt.Fprintln(w, change(id, c))
	for _, e := range c.Effects {
		if effects {
			fmt.Fprintf(w, "  %s\n", export.Line(e))
		}
	}
}

// change says in a line what was changed, or would be.
func change(id string, c app.Changed) string {
	line := fmt.Sprintf("%s is %s now, was %s", id, c.State, c.From)
	switch {
	case c.DryRun && c.From == c.State:
		line = fmt.Sprintf("%s would stay %s", id, c.State)
	case c.DryRun:
		line = fmt.Sprintf("%s would go from %s to %s", id, c.From, c.State)
	case c.From == c.State:
		line = fmt.Sprintf("%s stays %s", id, c.State)
	}
	if c.Row != "" {
		line += " (" + c.Row + ")"
	}
	return line
}
