package export

import (
	"io"

	"gonum.org/v1/plot/plotter"

	"github.com/accession-ingest/accession/domain/fair/simulate"
)

// DrawSimulation draws how long the deposits of users waited, of those with the most
// deposits, in format svg or png.
func DrawSimulation(w io.Writer, c simulate.Comparison, format string) error {
	b := bars{title: "Wait by user", axis: "seconds, p95", none: "no users"}
	turns, inOrder := plotter.Values{}, plotter.Values{}
	for _, u := range c.Users[:min(len(c.Users), maxDrawn)] {
		b.labels = append(b.labels, Line(u.Name))
		turns, inOrder = append(turns, u.Fair.P95.Seconds()), append(inOrder, u.FIFO.P95.Seconds())
	}
	b.series = []series{{"in turn", turns}, {"first in, first out", inOrder}}
	return b.draw(w, format)
}
