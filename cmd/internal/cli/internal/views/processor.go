package views

import (
	"io"

	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

// Processors writes a list of processors of deposit queues.
func Processors(w io.Writer, list []queues.Processor) {
	render.Rows(w, "no processors", render.Row{"queue", "processor", "asks for", "source"}, list, func(one queues.Processor) render.Row {
		return render.Row{one.Queue, one.Name, export.Line(queues.Criteria(one.Processor)), one.Source}
	})
}
