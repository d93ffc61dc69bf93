package views

import (
	"io"
	"maps"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/slot"
)

// Swept writes what a pass of the sweeper did.
func Swept(w io.Writer, sum run.Swept) {
	lines := [][2]any{{"at", render.Time(sum.Now)}, {"checked", sum.Looked}}
	for _, state := range domain.FileStates {
		if n := sum.Recovered[state]; n > 0 {
			lines = append(lines, [2]any{"now " + string(state), n})
		}
	}
	for _, state := range slot.States {
		if n := sum.Slots[state]; n > 0 {
			lines = append(lines, [2]any{"slots now " + string(state), n})
		}
	}
	for _, state := range slices.Sorted(maps.Keys(sum.Entries)) {
		lines = append(lines, [2]any{"entries now " + string(state), sum.Entries[state]})
	}
	lines = append(lines, [2]any{"moved on", sum.Moved}, [2]any{"errors", sum.Errors})
	for _, why := range slices.Concat(sum.Faults, sum.Notes) {
		lines = append(lines, [2]any{"", export.Line(why)})
	}
	render.Pairs(w, lines...)
}
