package console

import (
	"cmp"
	"iter"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/question"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

// column is what a table shows of each item.
type column[T any] struct {
	name  string // in the address and in files, as the API has it; "" = it is in neither, only on the page
	label string
	value func(T) any
}

// columns are a list of an operation as a table.
type columns[T any] struct {
	operation string
	title     string   // what is listed
	none      string   // what is said when nothing is
	whole     bool     // it has one page
	names     []string // values of the path that its operation is of
	list      []column[T]
	// orders are those that the operation sorts the list by; without them it is read and sorted here.
	orders    app.Orders
	first     string // the one in which it is if none is chosen
	uncounted bool   // how many are chosen is not known before they are sorted
}

// table is a table as its template takes it.
type table struct {
	Name, Title, None string
	Heads             []head
	Rows              [][]cell.Cell
	// Total counts all that the filter chooses, nil = not counted.
	Total *int64
	// First and Next are the addresses of those pages, "" = this is the first, or the last. CSV has
	// the whole list.
	First, Next, CSV string
	// Most is how many can be sorted by the other columns, 0 = these can.
	Most int64
}

// head is the head of a column.
type head struct {
	Label  string
	To     string // sorts by it
	Sorted string // ascending or descending, "" = not by it
	Number bool
}

// listed returns the page of the list that an address chooses.
func (c columns[T]) listed(v *visit) (table, error) {
	chosen, err := c.parameters(v)
	if err != nil {
		return table{}, err
	}
	query := v.URL.Query()
	p, err := c.part(v, chosen, query)
	if err != nil {
		return table{}, err
	}
	t := c.table(p.Items)
	t.Total = p.Total
	t.CSV = with(v.URL.Path+".csv", withoutPage(chosen), "sort", query.Get("sort"))
	if query.Get("cursor") != "" {
		t.First = with(v.URL.Path, query, "cursor", "")
	}
	if p.Next != "" {
		t.Next = with(v.URL.Path, query, "cursor", string(p.Next))
	}
	delete(query, "cursor") // which is one in the order of now
	if c.orders.Any != "" {
		c.ordered(&t, v.URL.Path, query)
	} else {
		c.sortable(&t, v.URL.Path, query)
	}
	return t, nil
}

// part returns the part of the list that a page shows. In an order that the operation does not have
// the whole list is read, and the cursor is how many items come before the part.
func (c columns[T]) part(v *visit, chosen, query url.Values) (p app.Page[T], err error) {
	if c.orders.Any != "" || query.Get("sort") == "" {
		return ask.Get[app.Page[T]](v, c.operation, chosen, c.named(v)...)
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
func (c columns[T]) named(v *visit) (values []string) {
	for _, name := range c.names {
		values = append(values, v.PathValue(name))
	}
	return values
}

// parameters returns those of the operation: of which the order is one if it sorts the list.
func (c columns[T]) parameters(v *visit) (url.Values, error) {
	chosen, err := v.Parameters()
	if sort := v.URL.Query().Get("sort"); err == nil && sort != "" && c.orders.Any != "" {
		chosen.Set("sort", sort)
	}
	return chosen, err
}

// withoutPage returns what is chosen, without which part of it.
func withoutPage(chosen url.Values) url.Values {
	all := maps.Clone(chosen)
	delete(all, "cursor")
	delete(all, "limit")
	return all
}

// table returns items as a table.
func (c columns[T]) table(items []T) table {
	t := table{Title: c.title, None: c.none}
	for _, col := range c.list {
		t.Heads = append(t.Heads, head{Label: col.label})
	}
	for _, item := range items {
		row := make([]cell.Cell, len(c.list))
		for i, col := range c.list {
			row[i] = cell.Of(col.value(item)).Broken()
			t.Heads[i].Number = t.Heads[i].Number || row[i].Number
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// sortBy makes the head of a column lead to the list in its order, from its end if it is in it.
func (t *table) sortBy(i int, name, path string, query url.Values) {
	by, down := strings.CutPrefix(query.Get("sort"), "-")
	to := name
	if by == name {
		t.Heads[i].Sorted = "ascending"
		if to = "-" + name; down {
			t.Heads[i].Sorted, to = "descending", name
		}
	}
	t.Heads[i].To = with(path, query, "sort", to)
}

// ordered makes the heads lead to the list in the orders that it can be in: if it is not known to be
// short, in those that any number can be in.
func (c columns[T]) ordered(t *table, path string, query url.Values) {
	few := t.Total != nil || c.uncounted && slices.ContainsFunc(slices.Collect(maps.Keys(query)), func(name string) bool {
		return name != "sort" && name != "limit" && query.Get(name) != ""
	})
	if query.Get("sort") == "" {
		query.Set("sort", c.first)
	}
	for i, col := range c.list {
		if col.name == c.orders.Any || few && c.orders.Has(col.name) {
			t.sortBy(i, col.name, path, query)
		}
	}
	if !few {
		t.Most = app.MostSorted
	}
}

// sortable makes the heads lead to the list in the order of each column that has one.
func (c columns[T]) sortable(t *table, path string, query url.Values) {
	for i, col := range c.list {
		if col.name != "" {
			t.sortBy(i, col.name, path, query)
		}
	}
}

// sorted returns the whole list in the order that an address chooses. It is read for each page, so
// that no more than so many are.
func (c columns[T]) sorted(v *visit, chosen url.Values) (all []T, err error) {
	sort := v.URL.Query().Get("sort")
	if err := c.order(nil, sort); err != nil {
		return nil, err
	}
	for items, err := range c.pages(v, withoutPage(chosen)) {
		if err != nil {
			return nil, err
		}
		if all = append(all, items...); int64(len(all)) > app.MostSorted {
			return nil, problem.Of(app.Invalid, "more than "+cell.Count(app.MostSorted)+" are chosen, which are too many to sort", "choose fewer, or read them in the order of the list, without sort")
		}
	}
	return all, c.order(all, sort)
}

// order sorts items by a column, with a hyphen before its name from the end. What has no value is at
// the end in both.
func (c columns[T]) order(all []T, sort string) error {
	by, down := strings.CutPrefix(sort, "-")
	at := slices.IndexFunc(c.list, func(col column[T]) bool { return col.name == by && by != "" })
	if at < 0 {
		return problem.Of(app.Invalid, "there is no column to sort by of this name", "follow the head of a column")
	}
	type keyed struct {
		item T
		key  cell.Cell
	}
	rows := make([]keyed, len(all))
	for i, item := range all {
		rows[i] = keyed{item, cell.Of(c.list[at].value(item))}
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

// with returns an address with one parameter set, "" = without it.
func with(path string, query url.Values, name, value string) string {
	all := url.Values{}
	for n, values := range query {
		if n != name && values[0] != "" {
			all[n] = values
		}
	}
	if value != "" {
		all.Set(name, value)
	}
	if len(all) == 0 {
		return path
	}
	return path + "?" + all.Encode()
}

// most is how many items of a list are read at once for a file.
const most = "1000"

// download sends the whole list that an address chooses as CSV, as it is read. One that cannot
// be read to its end is cut off.
func (c columns[T]) download(v *visit, w http.ResponseWriter) error {
	chosen, err := c.parameters(v)
	if err != nil {
		return err
	}
	pages := c.pages(v, withoutPage(chosen))
	if v.URL.Query().Get("sort") != "" && c.orders.Any == "" {
		pages = func(yield func([]T, error) bool) { yield(c.sorted(v, chosen)) }
	}
	var out *export.CSV
	for items, err := range pages {
		if err != nil {
			if out != nil {
				panic(http.ErrAbortHandler)
			}
			return err
		}
		if out == nil {
			if out, err = c.begin(w); err != nil {
				return nil //nolint:nilerr // the client has gone
			}
		}
		for _, item := range items {
			if err := out.Row(c.row(item)...); err != nil {
				return nil //nolint:nilerr // the client has gone
			}
		}
	}
	_ = out.Close() // the client may be gone
	return nil
}

// pages reads the whole list that is chosen, many items at once.
func (c columns[T]) pages(v *visit, chosen url.Values) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		if !c.whole {
			chosen.Set("limit", most)
		}
		for more := true; more; {
			p, err := ask.Get[app.Page[T]](v, c.operation, chosen, c.named(v)...)
			if n := deref(p.Total); err == nil && p.Next == "" && !chosen.Has("cursor") && n > int64(len(p.Items)) {
				err = problem.Of(app.Invalid, "the list is too long: only "+most+" of "+cell.Count(n)+" can be read", "choose fewer")
			}
			more = p.Next != "" && err == nil
			chosen.Set("cursor", string(p.Next))
			if !yield(p.Items, err) {
				return
			}
		}
	}
}

// row returns an item as a file has it.
func (c columns[T]) row(item T) (row []any) {
	for _, col := range c.list {
		if col.name != "" {
			row = append(row, cell.Plain(col.value(item)))
		}
	}
	return row
}

func (c columns[T]) begin(w http.ResponseWriter) (*export.CSV, error) {
	noun, _, _ := strings.Cut(c.operation, ".")
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": noun + ".csv"}))
	var names []string
	for _, col := range c.list {
		if col.name != "" {
			names = append(names, col.name)
		}
	}
	return export.NewCSV(w, names...)
}

// download returns what sends a file, or the page of why it cannot be made.
func (c *Console) download(write func(*visit, http.ResponseWriter) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := write(&visit{Request: r, API: c.API}, w); err != nil {
			c.send(w, r, c.failed(r, err))
		}
	})
}

// field is a field of a filter.
type field struct {
	Name, Label, Value string
	Kind               string   // of the input; "" = text
	Choices            []string // it is a choice of these
}

// filter returns the fields of a form with what an address chooses.
func filter(v *visit, list ...field) []field {
	for i := range list {
		list[i].Value = v.URL.Query().Get(list[i].Name)
		if list[i].Kind == "date" && len(list[i].Value) > len("2006-01-02") {
			list[i].Kind = "" // a moment within a day
		}
	}
	return list
}

// list is the page of a list.
type list struct {
	Fields []field
	Table  table
	Path   string
	Chosen bool // the list is limited to something
	Sort   string
	// Verbs are the commands to all that are chosen, To where they are previewed.
	Verbs []doable
	To    string
	// Actions are commands that are about none of them.
	Actions []doable
	Given   []field // the filter as it is sent on
}

// changes are the kinds of events that change a list, by its operation, where they are not those of
// batches, jobs and files.
var changes = map[string]string{"query.ls": "query", "slot.ls": "slot,file", "dataset.ls": "slot,file,setting", "compute.ls": "entry", "drop.ls": "batch,setting"}

// listPage returns the page of a list that the address chooses.
func listPage[T any](v *visit, c columns[T], title, where string, fields ...field) (page, error) {
	t, err := c.listed(v)
	if err != nil {
		return page{}, err
	}
	l := list{Fields: filter(v, fields...), Table: t, Path: v.URL.Path, Sort: v.URL.Query().Get("sort")}
	l.Chosen = slices.ContainsFunc(l.Fields, func(f field) bool { return f.Value != "" })
	if a, has := question.Actions[where]; has && l.Chosen && mayAct(v, "") {
		l.To = v.URL.Path + "/all"
		for _, verb := range a.All {
			l.Verbs = append(l.Verbs, doable{wordsOf(verb), verb})
		}
		l.Given = slices.DeleteFunc(slices.Clone(l.Fields), func(f field) bool { return f.Value == "" })
	}
	return page{Name: "list", Title: title, Where: where, Follow: "kind=" + cmp.Or(changes[c.operation], "batch,job,file"), Data: l}, nil
}

// texts returns states as they are chosen by.
func texts[S ~string](states []S) []string {
	all := make([]string, len(states))
	for i, s := range states {
		all[i] = string(s)
	}
	return all
}
