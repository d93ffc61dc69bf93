// Package table has the tables of the console: what is shown of each item, in which orders it can be,
// and the file that has all of it.
package table

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
)

// Column is what a table shows of each item: see [Col].
type Column[T any] struct {
	name  string
	label string
	value func(T) any
}

// Col returns a column. Its name is what it has in addresses and in files, as the API has it; of ""
// it is in neither, only on the page.
func Col[T any](name, label string, value func(T) any) Column[T] {
	return Column[T]{name, label, value}
}

// Columns are a list of an operation as a table.
type Columns[T any] struct {
	Operation string     // that lists, "" = what it lists is there already
	Title     string     // what is listed
	None      string     // what is said when nothing is
	Whole     bool       // it has one page
	Names     []string   // values of the path that its operation is of
	Given     url.Values // parameters of the operation besides those of the address
	File      string     // the address of the file after that of the page, "" = .csv
	List      []Column[T]
	// Orders are those that the operation sorts the list by; without them it is read and sorted here.
	Orders    app.Orders
	First     string // the one in which it is if none is chosen
	Uncounted bool   // how many are chosen is not known before they are sorted
}

// Without returns columns without those of some names.
func (c Columns[T]) Without(names ...string) []Column[T] {
	return slices.DeleteFunc(slices.Clone(c.List), func(col Column[T]) bool { return slices.Contains(names, col.name) })
}

// Table is a table as its template takes it.
type Table struct {
	// Name is that of a table within a page, "" = the page is about it.
	Name, Title, None string
	Heads             []Head
	Rows              [][]cell.Cell
	// Total counts all that the filter chooses, nil = not counted.
	Total *int64
	// First and Next are the addresses of those pages, "" = this is the first, or the last. CSV has
	// the whole list.
	First, Next, CSV string
	// Most is how many can be sorted by the other columns, 0 = these can.
	Most int64
}

// Head is the head of a column.
type Head struct {
	Label  string
	To     string // sorts by it
	Sorted string // ascending or descending, "" = not by it
	Number bool
}

// Table returns items as a table.
func (c Columns[T]) Table(items []T) Table {
	t := Table{Title: c.Title, None: c.None}
	for _, col := range c.List {
		t.Heads = append(t.Heads, Head{Label: col.label})
	}
	for _, item := range items {
		row := make([]cell.Cell, len(c.List))
		for i, col := range c.List {
			row[i] = cell.Of(col.value(item)).Broken()
			t.Heads[i].Number = t.Heads[i].Number || row[i].Number
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// sortBy makes the head of a column lead to the list in its order, which a parameter of the address
// is, and from its end if it is in it.
func (t *Table) sortBy(i int, name, parameter, path string, query url.Values) {
	by, down := strings.CutPrefix(query.Get(parameter), "-")
	to := name
	if by == name {
		t.Heads[i].Sorted = "ascending"
		if to = "-" + name; down {
			t.Heads[i].Sorted, to = "descending", name
		}
	}
	t.Heads[i].To = form.Address(path, query, parameter, to)
}

// Sortable makes the heads lead to the list in the order of each column that has one.
func (c Columns[T]) Sortable(t *Table, path string, query url.Values) {
	c.heads(t, "sort", path, query)
}

// heads makes them lead to the table in the order of each column that has one, which a parameter of
// the address is.
func (c Columns[T]) heads(t *Table, parameter, path string, query url.Values) {
	for i, col := range c.List {
		if col.name != "" {
			t.sortBy(i, col.name, parameter, path, query)
		}
	}
}

// Order sorts items by a column, with a hyphen before its name from the end. What has no value is at
// the end in both.
func (c Columns[T]) Order(all []T, sort string) error {
	by, down := strings.CutPrefix(sort, "-")
	at := slices.IndexFunc(c.List, func(col Column[T]) bool { return col.name == by && by != "" })
	if at < 0 {
		return problem.Of(app.Invalid, "there is no column to sort by of this name", "follow the head of a column")
	}
	type keyed struct {
		item T
		key  cell.Cell
	}
	rows := make([]keyed, len(all))
	for i, item := range all {
		rows[i] = keyed{item, cell.Of(c.List[at].value(item))}
	}
	slices.SortStableFunc(rows, func(a, b keyed) int {
		x, y := a.key, b.key
		if x.Empty() || y.Empty() {
			return cmp.Compare(none(x), none(y))
		}
		if down {
			return y.Compare(x)
		}
		return x.Compare(y)
	})
	for i, row := range rows {
		all[i] = row.item
	}
	return nil
}

func none(c cell.Cell) int {
	if c.Empty() {
		return 1
	}
	return 0
}
