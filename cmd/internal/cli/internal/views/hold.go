package views

import (
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
