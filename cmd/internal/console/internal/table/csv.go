package table

import (
	"mime"
	"net/http"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

// Download sends the whole list that an address chooses as CSV, as it is read. One that cannot
// be read to its end is cut off.
func (c Columns[T]) Download(v *ask.Visit, w http.ResponseWriter) error {
	chosen, err := c.parameters(v)
	if err != nil {
		return err
	}
	pages := c.pages(v, WithoutPage(chosen))
	if v.URL.Query().Get("sort") != "" && c.Orders.Any == "" {
		pages = func(yield func([]T, error) bool) { yield(c.sorted(v, chosen)) }
	}
	noun, _, _ := strings.Cut(c.Operation, ".")
	var out *export.CSV
	for items, err := range pages {
		if err != nil {
			if out != nil {
				panic(http.ErrAbortHandler)
			}
			return err
		}
		if out == nil {
			if out, err = c.Begin(w, noun); err != nil {
				return nil //nolint:nilerr // the client has gone
			}
		}
		for _, item := range items {
			if err := out.Row(c.Row(item)...); err != nil {
				return nil //nolint:nilerr // the client has gone
			}
		}
	}
	_ = out.Close() // the client may be gone
	return nil
}

// Row returns an item as a file has it.
func (c Columns[T]) Row(item T) (row []any) {
	for _, col := range c.List {
		if col.name != "" {
			row = append(row, cell.Plain(col.value(item)))
		}
	}
	return row
}

// Begin begins a file of a name.
func (c Columns[T]) Begin(w http.ResponseWriter, name string) (*export.CSV, error) {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name + ".csv"}))
	var names []string
	for _, col := range c.List {
		if col.name != "" {
			names = append(names, col.name)
		}
	}
	return export.NewCSV(w, names...)
}
