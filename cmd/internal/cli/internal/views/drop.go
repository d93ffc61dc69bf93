package views

import (
	"fmt"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

// Drops writes what is in the drop folder.
func Drops(w io.Writer, all []drops.Shown) {
	render.Rows(w, "no such deposits", render.Row{"deposit", "received", "submitter", "file", "bytes", "state", "reason"}, all, func(s drops.Shown) render.Row {
		reason := ""
		switch {
		case s.Refused != nil:
			reason = export.Line(s.Refused.Reason)
		case s.Removed != nil:
			reason = export.Line(s.Removed.Reason)
		}
		return render.Row{s.ID, render.Time(s.Received), export.Line(s.Submitter), export.Line(s.FileName), s.Size, s.State, reason}
	})
}

// Drop writes what became of a deposit in the drop folder.
func Drop(w io.Writer, s drops.Shown) {
	switch s.State {
	case drops.Transferred:
		fmt.Fprintf(w, "%s became %s\nhint: `accession batch show %s` shows its progress\n", s.ID, s.Batch, s.Batch)
	case drops.Refused:
		fmt.Fprintf(w, "%s was refused: %s\nhint: %s\n", s.ID, export.Line(s.Refused.Reason), export.Line(s.Refused.Hint))
	case drops.Removed:
		fmt.Fprintf(w, "%s of %s (%s, %d bytes) was removed at %v by %s%s\n", s.ID, export.Line(s.Submitter), export.Line(s.FileName), s.Size, render.Time(s.Removed.At), export.Line(string(s.Removed.By)), because(*s.Removed))
	default:
		fmt.Fprintf(w, "%s waits in the drop folder since %v\n", s.ID, render.Time(s.Received))
	}
	if a := s.Retried; a != nil {
		fmt.Fprintf(w, "tried again at %v by %s%s\n", render.Time(a.At), export.Line(string(a.By)), because(*a))
	}
}

// because returns the reason of an act, if there is one.
func because(a drops.Act) string {
	if a.Reason == "" {
		return ""
	}
	return ": " + export.Line(a.Reason)
}
