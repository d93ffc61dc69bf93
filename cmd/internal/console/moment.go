package console

import (
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/table"
)

// momentOf returns what addresses of pages as of a moment end with, "" = they show what is now.
func momentOf(at *app.AsOf) string {
	if at == nil {
		return ""
	}
	return "?at=" + strconv.FormatUint(at.Seq, 10)
}

// keepsMoment makes what a page as of a moment shows of batches, jobs and files lead to their pages as
// of it. Lists and all else have no past.
func keepsMoment(at *app.AsOf, about []fact, tables ...table.Table) {
	keep := func(c *cell.Cell) {
		if hasMoments(c.To) {
			c.To += momentOf(at)
		}
	}
	for i := range about {
		keep(&about[i].Cell)
	}
	for _, t := range tables {
		for _, row := range t.Rows {
			for i := range row {
				keep(&row[i])
			}
		}
	}
}

// hasMoments reports whether an address is that of one batch, job or file.
func hasMoments(address string) bool {
	for _, kind := range []string{"batches/", "jobs/", "files/"} {
		if id, is := strings.CutPrefix(address, Path+kind); is {
			return !strings.ContainsAny(id, "/?")
		}
	}
	return false
}
