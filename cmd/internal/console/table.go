package console

import (
	"cmp"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

// column is what a table shows of each item.
type column[T any] struct {
	name  string // in the address and in files, as the API has it
	label string
	value func(T) any
}

// columns are a list of an operation as a table.
type columns[T any] struct {
	operation string
	title     string // what is listed
	none      string // what is said when nothing is
	whole     bool   // it has one page
	list      []column[T]
	// orders are those that the operation sorts the list by; without them only a page is sorted.
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
	// Part says that only this page is sorted: there are others.
	Part bool
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
	p, err := get[app.Page[T]](v, c.operation, chosen)
	if err != nil {
		return table{}, err
	}
	query := v.URL.Query()
	t := c.table(p.Items)
	if t.Total = p.Total; !c.whole {
		t.CSV = v.URL.Path + ".csv"
	}
	if query.Get("cursor") != "" {
		t.First = with(v.URL.Path, query, "cursor", "")
	}
	if p.Next != "" {
		t.Next = with(v.URL.Path, query, "cursor", string(p.Next))
	}
	if q := csvQuery(chosen); q != "" && t.CSV != "" {
		t.CSV += "?" + q
	}
	if c.orders.Any != "" {
		c.ordered(&t, v.URL.Path, query)
		return t, nil
	}
	if err := c.sorted(&t, v.URL.Path, query); err != nil {
		return table{}, err
	}
	t.Part = query.Get("sort") != "" && (t.First != "" || t.Next != "")
	return t, nil
}

// parameters returns those of the operation: of which the order is one if it sorts the list.
func (c columns[T]) parameters(v *visit) (url.Values, error) {
	chosen, err := v.parameters()
	if sort := v.URL.Query().Get("sort"); err == nil && sort != "" && c.orders.Any != "" {
		chosen.Set("sort", sort)
	}
	return chosen, err
}

func csvQuery(chosen url.Values) string {
	all := url.Values{}
	for name, values := range chosen {
		if name != "cursor" && name != "limit" {
			all[name] = values
		}
	}
	return all.Encode()
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
	delete(query, "cursor") // which is one in the order of now
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

// sorted sorts the rows as the address says: by a column, with a hyphen before its name from the
// end. Of what has no value it is at the end in both.
func (c columns[T]) sorted(t *table, path string, query url.Values) error {
	by, down := strings.CutPrefix(query.Get("sort"), "-")
	at := slices.IndexFunc(c.list, func(col column[T]) bool { return col.name == by })
	if by != "" && at < 0 {
		return problem.Of(app.Invalid, "there is no column to sort by of this name", "follow the head of a column")
	}
	for i, col := range c.list {
		if !slices.ContainsFunc(t.Rows, func(row []cell.Cell) bool { return row[i].Kind == "bar" }) {
			t.sortBy(i, col.name, path, query)
		}
	}
	if at < 0 {
		return nil
	}
	slices.SortStableFunc(t.Rows, func(a, b []cell.Cell) int {
		x, y := a[at], b[at]
		if x.Empty() || y.Empty() {
			return cmp.Compare(none(x), none(y))
		}
		if down {
			return y.Compare(x)
		}
		return x.Compare(y)
	})
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
	chosen.Set("limit", most)
	var out *export.CSV
	for more := true; more; {
		p, err := get[app.Page[T]](v, c.operation, chosen)
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
		for _, item := range p.Items {
			if err := out.Row(c.row(item)...); err != nil {
				return nil //nolint:nilerr // the client has gone
			}
		}
		chosen.Set("cursor", string(p.Next))
		more = p.Next != ""
	}
	_ = out.Close() // the client may be gone
	return nil
}

// row returns an item as a file has it.
func (c columns[T]) row(item T) (row []any) {
	for _, col := range c.list {
		if value := col.value(item); !isBar(value) {
			row = append(row, cell.Plain(value))
		}
	}
	return row
}

func (c columns[T]) begin(w http.ResponseWriter) (*export.CSV, error) {
	noun, _, _ := strings.Cut(c.operation, ".")
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": noun + ".csv"}))
	var names []string
	var zero T
	for _, col := range c.list {
		if !isBar(col.value(zero)) {
			names = append(names, col.name)
		}
	}
	return export.NewCSV(w, names...)
}

func isBar(v any) bool {
	_, is := v.(cell.Bar)
	return is
}

// download returns what sends a file, or the page of why it cannot be made.
func (c *Console) download(write func(*visit, http.ResponseWriter) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := write(&visit{Request: r, api: c.API}, w); err != nil {
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
	Given []field // the filter as it is sent on
}

// listPage returns the page of a list that the address chooses.
func listPage[T any](v *visit, c columns[T], title, where string, fields ...field) (page, error) {
	t, err := c.listed(v)
	if err != nil {
		return page{}, err
	}
	l := list{Fields: filter(v, fields...), Table: t, Path: v.URL.Path, Sort: v.URL.Query().Get("sort")}
	l.Chosen = slices.ContainsFunc(l.Fields, func(f field) bool { return f.Value != "" })
	if a, has := actions[where]; has && l.Chosen && mayAct(v, "") {
		l.To = v.URL.Path + "/all"
		for _, verb := range a.all {
			l.Verbs = append(l.Verbs, doable{wordsOf(verb), verb})
		}
		l.Given = slices.DeleteFunc(slices.Clone(l.Fields), func(f field) bool { return f.Value == "" })
	}
	return page{Name: "list", Title: title, Where: where, Follow: "kind=batch,job,file", Data: l}, nil
}

// texts returns states as they are chosen by.
func texts[S ~string](states []S) []string {
	all := make([]string, len(states))
	for i, s := range states {
		all[i] = string(s)
	}
	return all
}
