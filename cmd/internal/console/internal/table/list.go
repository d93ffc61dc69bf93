package table

import (
	"cmp"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
)

// Listed returns the page of the list that an address chooses.
func (c Columns[T]) Listed(v *ask.Visit) (Table, error) {
	chosen, err := c.parameters(v)
	if err != nil {
		return Table{}, err
	}
	query := v.URL.Query()
	p, err := c.part(v, chosen, query)
	if err != nil {
		return Table{}, err
	}
	t := c.Table(p.Items)
	t.Total = p.Total
	path := v.URL.EscapedPath()
	t.CSV = form.Address(path+cmp.Or(c.File, ".csv"), WithoutPage(chosen), "sort", query.Get("sort"))
	if query.Get("cursor") != "" {
		t.First = form.Address(path, query, "cursor", "")
	}
	if p.Next != "" {
		t.Next = form.Address(path, query, "cursor", string(p.Next))
	}
	delete(query, "cursor") // which is one in the order of now
	if c.Orders.Any != "" {
		c.ordered(&t, path, query)
	} else {
		c.Sortable(&t, path, query)
	}
	return t, nil
}

// part returns the part of the list that a page shows. In an order that the operation does not have
// the whole list is read, and the cursor is how many items come before the part.
func (c Columns[T]) part(v *ask.Visit, chosen, query url.Values) (p app.Page[T], err error) {
	if c.Orders.Any != "" || query.Get("sort") == "" {
		return ask.Get[app.Page[T]](v, c.Operation, chosen, c.named(v)...)
	}
	all, err := c.sorted(v, chosen)
	if err != nil {
		return p, err
	}
	from, wrong := strconv.Atoi(cmp.Or(query.Get("cursor"), "0"))
	limit, wrongToo := strconv.Atoi(cmp.Or(query.Get("limit"), "50"))
	if wrong != nil || wrongToo != nil || from < 0 || limit < 1 || limit > 1000 {
		return p, problem.Of(app.Invalid, "there is no such part of the list", "begin with the first page, and have 1 to 1000 items on each")
	}
	from = min(from, len(all))
	to := min(from+limit, len(all))
	if p.Items, p.Total = all[from:to], new(int64(len(all))); to < len(all) {
		p.Next = app.Cursor(strconv.Itoa(to))
	}
	return p, nil
}

// named returns what of the path the operation is of.
func (c Columns[T]) named(v *ask.Visit) (values []string) {
	for _, name := range c.Names {
		values = append(values, v.PathValue(name))
	}
	return values
}

// parameters returns those of the operation: of which the order is one if it sorts the list.
func (c Columns[T]) parameters(v *ask.Visit) (url.Values, error) {
	chosen, err := v.Parameters()
	if err != nil {
		return nil, err
	}
	if sort := v.URL.Query().Get("sort"); sort != "" && c.Orders.Any != "" {
		chosen.Set("sort", sort)
	}
	for name, values := range c.Given {
		chosen[name] = values
	}
	return chosen, nil
}

// WithoutPage returns what is chosen, without which part of it.
func WithoutPage(chosen url.Values) url.Values {
	all := maps.Clone(chosen)
	delete(all, "cursor")
	delete(all, "limit")
	return all
}

// ordered makes the heads lead to the list in the orders that it can be in: if it is not known to be
// short, in those that any number can be in.
func (c Columns[T]) ordered(t *Table, path string, query url.Values) {
	few := t.Total != nil || c.Uncounted && slices.ContainsFunc(slices.Collect(maps.Keys(query)), func(name string) bool {
		return name != "sort" && name != "limit" && query.Get(name) != ""
	})
	if query.Get("sort") == "" {
		query.Set("sort", c.First)
	}
	for i, col := range c.List {
		if col.name == c.Orders.Any || few && c.Orders.Has(col.name) {
			t.sortBy(i, col.name, "sort", path, query)
		}
	}
	if !few {
		t.Most = app.MostSorted
	}
}

// sorted returns the whole list in the order that an address chooses. It is read for each page, so
// that no more than so many are.
func (c Columns[T]) sorted(v *ask.Visit, chosen url.Values) (all []T, err error) {
	sort := v.URL.Query().Get("sort")
	if err := c.Order(nil, sort); err != nil {
		return nil, err
	}
	for items, err := range c.pages(v, WithoutPage(chosen)) {
		if err != nil {
			return nil, err
		}
		if all = append(all, items...); int64(len(all)) > app.MostSorted {
			return nil, problem.Of(app.Invalid, "more than "+cell.Count(app.MostSorted)+" are chosen, which are too many to sort", "choose fewer, or read them in the order of the list, without sort")
		}
	}
	return all, c.Order(all, sort)
}

// MostAtOnce is how many items of a list are read at once for a file.
const MostAtOnce = "1000"

// pages reads the whole list that is chosen, many items at once.
func (c Columns[T]) pages(v *ask.Visit, chosen url.Values) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		if !c.Whole {
			chosen.Set("limit", MostAtOnce)
		}
		for more := true; more; {
			p, err := ask.Get[app.Page[T]](v, c.Operation, chosen, c.named(v)...)
			if n := p.Total; err == nil && n != nil && p.Next == "" && !chosen.Has("cursor") && *n > int64(len(p.Items)) {
				err = problem.Of(app.Invalid, "the list is too long: only "+MostAtOnce+" of "+cell.Count(*n)+" can be read", "choose fewer")
			}
			more = p.Next != "" && err == nil
			chosen.Set("cursor", string(p.Next))
			if !yield(p.Items, err) {
				return
			}
		}
	}
}
