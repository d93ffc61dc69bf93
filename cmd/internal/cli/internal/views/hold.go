package views

import (
	"io"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain"
)

// HoldStatus returns set when there is a hold.
func HoldStatus(h *domain.Hold, set string) string {
	if h == nil {
		return "open"
	}
	return set
}

// HoldCells returns since when, by whom and why a hold stands.
func HoldCells(h *domain.Hold) render.Row {
	if h == nil {
		return render.Row{"", "", ""}
	}
	return render.Row{render.Time(h.When), export.Line(h.By), export.Line(h.Why)}
}

// Collections writes collections as a table.
func Collections(w io.Writer, all []app.Collection) {
	render.Rows(w, "no collections", render.Row{"collection", "status", "batches held", "jobs held", "since", "by", "why"}, all, func(c app.Collection) render.Row {
		return append(render.Row{c.Name, HoldStatus(c.Hold, "on hold"), render.Or(c.Batches, "?"), render.Or(c.Jobs, "?")}, HoldCells(c.Hold)...)
	})
}
