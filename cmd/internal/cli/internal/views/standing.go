package views

import (
	"fmt"
	"io"

	still "github.com/accession-ingest/accession/cmd/internal/app/standing"
	"github.com/accession-ingest/accession/cmd/internal/app/status"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain"
)

// standing writes what has waited longest, how far the stream by types is, and what
// stands still with the command for it.
func standing(w io.Writer, s status.Status) {
	if t := s.Types; t != nil {
		switch {
		case t.Error != "":
			fmt.Fprintf(w, "types       %s is not known: %s\n", t.Stream, export.Line(t.Error))
		case t.Events > 0:
			fmt.Fprintf(w, "types       %s is %d events behind, %s\n", t.Stream, t.Events, seconds(t.Seconds))
		default:
			fmt.Fprintf(w, "types       %s is up to date\n", t.Stream)
		}
	}
	if s.Overdue == nil {
		fmt.Fprintln(w, "overdue     attempts at files are not known")
	} else {
		fmt.Fprintf(w, "overdue     %d attempts at files\n", *s.Overdue)
	}
	fmt.Fprintln(w)
	none := "nothing waits in a state"
	if s.Oldest == nil {
		none = "what waits longest is not known"
	}
	render.Rows(w, none, render.Row{"waits longest", "in state", "for", "why"}, s.Oldest, func(o still.Oldest) render.Row {
		state := o.State
		if o.Kind == domain.KindBatch {
			state += " (batch)"
		}
		return render.Row{o.ID, state, seconds(o.Seconds), export.Line(o.Why)}
	})
	fmt.Fprintln(w)
	render.Rows(w, "nothing stands still", render.Row{"stands still", "remedy"}, s.Standing, func(l still.Line) render.Row {
		return render.Row{export.Line(l.What), "`" + l.Remedy + "`"}
	})
}
