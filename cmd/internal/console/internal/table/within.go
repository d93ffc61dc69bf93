package table

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
)

// Within are the tables within a page. Each has a name in the address of the page: sort.NAME is the
// column by which it is sorted, and csv=NAME is the file that has its rows in place of the page.
type Within struct {
	path  string
	query url.Values
	csv   string // which table is asked for as a file, "" = the page is
	names []string
	file  func(http.ResponseWriter)
	err   error
	// To is the address of the list that has all of what is asked for, "" = the page has it.
	To string
}

// In returns the tables of the page that is visited, of which there are none yet.
func In(v *ask.Visit) *Within {
	w := &Within{path: v.URL.EscapedPath(), query: v.URL.Query()}
	w.csv = w.query.Get("csv")
	w.query.Del("csv")
	return w
}

// order returns the parameter by which a table is sorted.
func order(name string) string { return "sort." + name }

// Asked reports whether a table is asked for as a file, or in an order: as a whole, that is.
func (w *Within) Asked(name string) bool { return w.csv == name || w.query.Get(order(name)) != "" }

// In returns items, which are all there are, as a table of the page.
func (c Columns[T]) In(w *Within, name string, items []T) Table {
	w.names = append(w.names, name)
	items = slices.Clone(items)
	if by := w.query.Get(order(name)); by != "" && w.err == nil {
		w.err = c.Order(items, by)
	}
	if w.csv == name {
		w.file = func(to http.ResponseWriter) { c.send(to, name, items) }
	}
	t := c.Table(items)
	t.Name = name
	if len(items) > 0 {
		t.CSV = form.Address(w.path, w.query, "csv", name)
		c.heads(&t, order(name), w.path, w.query)
	}
	return t
}

// FirstIn returns the first of items as a table of the page: the list with the same columns at an
// address has them all, in each order and as a file.
func (c Columns[T]) FirstIn(w *Within, name string, items []T, path string, chosen url.Values) Table {
	w.names = append(w.names, name)
	by := w.query.Get(order(name))
	file := form.Address(path+".csv", chosen, "sort", by)
	switch {
	case w.csv == name:
		w.To = file
	case by != "":
		w.To = form.Address(path, chosen, "sort", by)
	}
	t := c.Table(items)
	t.Name, t.CSV = name, file
	c.heads(&t, "sort", path, chosen)
	return t
}

// Err returns why there is not what the address asks for, nil = there is.
func (w *Within) Err() error {
	has := func(name string) bool { return slices.Contains(w.names, name) }
	if w.csv != "" && !has(w.csv) {
		return problem.Of(app.Invalid, "the page has no table "+cell.Short(w.csv)+" to send as CSV", "follow the link CSV at a table")
	}
	for parameter := range w.query {
		if name, sorts := strings.CutPrefix(parameter, order("")); sorts && !has(name) {
			return problem.Of(app.Invalid, "the page has no table "+cell.Short(name)+" to sort", "follow the head of a column")
		}
	}
	return w.err
}

// File returns what sends the file that is asked for, nil = the page is.
func (w *Within) File() func(http.ResponseWriter) { return w.file }

// send sends items as a file.
func (c Columns[T]) send(to http.ResponseWriter, name string, items []T) {
	out, err := c.Begin(to, name)
	for _, item := range items {
		if err != nil {
			return // the client has gone
		}
		err = out.Row(c.Row(item)...)
	}
	if err == nil {
		_ = out.Close() // the client may be gone
	}
}
