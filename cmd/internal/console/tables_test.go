package console

import (
	"cmp"
	"encoding/csv"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/domain/access"
)

// shownTable is a table as a page has it.
type shownTable struct {
	title string
	file  string // the address of its CSV, "" = it offers none
	heads []shownHead
	rows  [][]*html.Node
}

type shownHead struct{ label, to, sorted string }

// nodes returns those below n that have a name.
func nodes(n *html.Node, name string) (all []*html.Node) {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.Data == name {
			all = append(all, d)
		}
	}
	return all
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// tablesOf returns the tables of a page.
func tablesOf(t *testing.T, h http.Handler, path string) (all []shownTable) {
	t.Helper()
	w := visited(h, http.MethodGet, path, nil)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	doc, err := html.Parse(strings.NewReader(w.Body.String()))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes(doc, "table") {
		var s shownTable
		s.title = strings.TrimSpace(nodes(n, "caption")[0].FirstChild.Data)
		for _, th := range nodes(n, "th") {
			head := shownHead{label: textOf(th), sorted: attribute(th, "aria-sort")}
			for _, a := range nodes(th, "a") {
				head.to = attribute(a, "href")
			}
			s.heads = append(s.heads, head)
		}
		for _, tr := range nodes(nodes(n, "tbody")[0], "tr") {
			s.rows = append(s.rows, nodes(tr, "td"))
		}
		section := n.Parent
		for section.Data != "section" && section.Data != "main" {
			section = section.Parent
		}
		for _, a := range nodes(section, "a") {
			if attribute(a, "aria-label") == "CSV of "+s.title || len(nodes(section, "table")) == 1 && strings.HasSuffix(textOf(a), "as CSV") {
				s.file = attribute(a, "href")
			}
		}
		all = append(all, s)
	}
	return all
}

// plain returns what a cell of a page says, as a file has it, where both say it in the same form.
func plain(td *html.Node) (text string, same bool) {
	if times := nodes(td, "time"); len(times) > 0 {
		return attribute(times[0], "datetime"), true
	}
	text = textOf(td)
	if len(nodes(td, "svg"))+len(nodes(td, "small")) > 0 || strings.HasSuffix(text, "…") {
		return "", false
	}
	if text == "–" {
		return "", true
	}
	if attribute(td, "class") == "n" {
		text = strings.ReplaceAll(text, ",", "")
		_, err := strconv.ParseInt(text, 10, 64)
		return text, err == nil
	}
	return text, true
}

// fileOf returns the rows of a file by the names of its columns.
func fileOf(t *testing.T, h http.Handler, path string) (names []string, rows [][]string) {
	t.Helper()
	w := visited(h, http.MethodGet, path, nil)
	for w.Code == http.StatusSeeOther {
		w = visited(h, http.MethodGet, w.Header().Get("Location"), nil)
	}
	lines, err := csv.NewReader(strings.NewReader(w.Body.String())).ReadAll()
	if err != nil || w.Code != http.StatusOK || len(lines) == 0 || w.Header().Get("Content-Type") != "text/csv; charset=utf-8" || !strings.HasPrefix(w.Header().Get("Content-Disposition"), "attachment") {
		t.Fatalf("%s: %d %v %v %s", path, w.Code, w.Header(), err, w.Body)
	}
	return lines[0], lines[1:]
}

// orderOf compares two values of a column of a file as pages are sorted: none comes last, also from
// the end.
func orderOf(a, b string, down bool) int {
	if a == "" || b == "" {
		return cmp.Compare(strconv.FormatBool(a == ""), strconv.FormatBool(b == ""))
	}
	var c int
	x, err := strconv.ParseFloat(a, 64)
	y, errToo := strconv.ParseFloat(b, 64)
	if err == nil && errToo == nil {
		c = cmp.Compare(x, y)
	} else if x, err := time.Parse(time.RFC3339Nano, a); err == nil {
		y, _ := time.Parse(time.RFC3339Nano, b)
		c = x.Compare(y)
	} else {
		c = cmp.Compare(strings.ToLower(a), strings.ToLower(b))
	}
	if down {
		return -c
	}
	return c
}

// several returns an answer whose lists of things have four of each, which are not alike: of texts
// of outsiders, numbers and times.
func several(v any, name string, nth int) any {
	switch v := v.(type) {
	case map[string]any:
		all := map[string]any{}
		for key, value := range v {
			all[key] = several(value, name, nth)
		}
		return all
	case []any:
		var all []any
		for _, item := range v {
			for i := range 4 {
				all = append(all, several(item, name, (i*3+2)%4+1))
			}
		}
		return all
	case string:
		if v == name && nth > 0 {
			return name + " " + []string{"B", "d", "a", "C"}[nth-1]
		}
		if at, err := time.Parse(time.RFC3339, v); err == nil && nth > 0 {
			return at.Add(time.Duration(nth*nth) * time.Hour).Format(time.RFC3339)
		}
	case int:
		if nth > 0 {
			return v + nth*5
		}
	}
	return v
}

// unsorted are tables without an order of their own, and why.
var unsorted = map[string]string{
	"Events":            "they are in the order of the log, of which a page has a part",
	"The first of them": "they are a preview of what a command would do: the list that it was given on has them",
}

// notHere are tables that their pages do not sort and send, and why.
var notHere = map[string]string{
	"/console/jobs/jid0000000001?at=7 Files":                   "no list has all files of a job as it was",
	"/console/batches/bid0000000001?at=7 Jobs":                 "no list has all jobs of a batch as it was, which are too many to sort here",
	"/console/jobs/all?verb=requeue&state=failed":              unsorted["The first of them"],
	"/console/batches/all?verb=release&state=held":             unsorted["The first of them"],
	"/console/files/all?verb=requeue&state=DOWNLOADING_FAILED": unsorted["The first of them"],
	"/console/compute/all?verb=retry&state=FAILED":             unsorted["The first of them"],
	"/console/slots/all?verb=close&dataset=d1":                 unsorted["The first of them"],
	"/console/directories/all?verb=pause&dataset=d1":           unsorted["The first of them"],
	"/console/deposits/all?verb=retry&state=refused":           unsorted["The first of them"],
	"/console/queries/all?verb=fail&state=parked":              unsorted["The first of them"],
}

// sortedByAPI are the lists that the API sorts, which tests of it and of the whole program show.
var sortedByAPI = []string{"batches", "jobs", "files"}

// TestEachTable: each table of each page has a file with its rows, or those of the list that has all
// of them, and leads by its heads to the same rows in the order of each column that the file has,
// from both ends. What outsiders wrote is no formula.
func TestEachTable(t *testing.T) {
	t.Parallel()
	const name = "=cmd"
	a := &told{answers: some(name)}
	for path, answer := range a.answers {
		of, is := several(answer, name, 0).(map[string]any)
		if !is {
			continue
		}
		delete(of, "next")
		if of["total"] != nil {
			of["total"] = len(of["items"].([]any))
		}
		a.answers[path] = of
	}
	a.answers["/v1/self"] = people.Self{Name: "olga", Rights: []people.Right{{Role: access.Admin, All: true}}}
	h := opened(t, a, access.Admin)
	seen := 0
	for _, path := range pagesOfAll() {
		if path == Path+"nowhere" {
			continue
		}
		for _, s := range tablesOf(t, h, path) {
			if notHere[path] != "" || notHere[path+" "+s.title] != "" {
				continue
			}
			seen++
			at := path + ": " + s.title
			if s.file == "" {
				t.Errorf("%s has no file", at)
				continue
			}
			names, rows := fileOf(t, h, s.file)
			for _, value := range slices.Concat(rows...) {
				if strings.HasPrefix(value, "=") {
					t.Errorf("%s: its file has the formula %q", at, value)
				}
			}
			if unsorted[s.title] != "" {
				continue
			}
			compared(t, at, s, names, rows)
			for i, head := range s.heads {
				if head.to == "" {
					if column := slices.Index([]string{"", "Action", "What to do", "Revoke", "Withdraw", "Approve", "Reject"}, head.label); column < 0 && !strings.HasPrefix(head.label, "Sum of ") && !strings.HasPrefix(path, Path+"processors") {
						t.Errorf("%s is not sorted by %s", at, head.label)
					}
					continue
				}
				inOrder(t, h, at, s, i, false)
				inOrder(t, h, at, s, i, true)
			}
		}
	}
	if seen < 60 {
		t.Errorf("only %d tables are looked at", seen)
	}
}

// compared compares the rows of a page with those of its file.
func compared(t *testing.T, at string, s shownTable, names []string, rows [][]string) {
	t.Helper()
	if len(rows) < len(s.rows) || len(s.rows) == 0 {
		t.Errorf("%s: the page has %d rows, the file %d", at, len(s.rows), len(rows))
		return
	}
	for n, row := range s.rows {
		for i, td := range row {
			column := slices.Index(names, columnOf(s.heads[i].to))
			text, same := plain(td)
			if column < 0 || !same {
				continue
			}
			is := rows[n][column]
			if is != text && is != "'"+text && strings.ReplaceAll(is, "_", " ") != text && !sameTime(is, text) {
				t.Errorf("%s: row %d has %s %q, the file %q", at, n, s.heads[i].label, text, is)
			}
		}
	}
}

func sameTime(a, b string) bool {
	x, err := time.Parse(time.RFC3339Nano, a)
	y, errToo := time.Parse(time.RFC3339Nano, b)
	return err == nil && errToo == nil && x.Equal(y)
}

// parametersOf returns those of an address, and its path.
func parametersOf(address string) (string, url.Values) {
	u, err := url.Parse(address)
	if err != nil {
		return "", nil
	}
	return u.Path, u.Query()
}

// columnOf returns the column by which an address sorts: the heads differ in it only.
func columnOf(address string) string {
	_, query := parametersOf(address)
	for name, values := range query {
		if name == "sort" || strings.HasPrefix(name, "sort.") {
			return strings.TrimPrefix(values[0], "-")
		}
	}
	return ""
}

// inOrder follows a head, and from there to the order from the end.
func inOrder(t *testing.T, h http.Handler, at string, s shownTable, i int, down bool) {
	t.Helper()
	to := s.heads[i].to
	column := columnOf(to)
	if s.heads[i].sorted == "" && down {
		to = strings.Replace(to, "="+column, "=-"+column, 1)
	} else if s.heads[i].sorted != "" {
		return // the list is in its order already, which the API has made
	}
	var sorted *shownTable
	for _, other := range tablesOf(t, h, to) {
		if i < len(other.heads) && (other.title == s.title || strings.HasPrefix(other.title, "Failed jobs by reason")) {
			sorted = &other
		} else if page, _ := parametersOf(to); other.title != "" && sorted == nil && slices.Contains(sortedByAPI, strings.TrimPrefix(page, Path)) {
			return // it is that of a list
		}
	}
	if sorted == nil {
		t.Errorf("%s: %s leads to %s, where it is not", at, s.heads[i].label, to)
		return
	}
	if page, _ := parametersOf(to); slices.Contains(sortedByAPI, strings.TrimPrefix(page, Path)) {
		return
	}
	want, back := "ascending", "-"+column
	if down {
		want, back = "descending", column
	}
	if head := sorted.heads[i]; head.sorted != want || !strings.Contains(head.to, "="+back) {
		t.Errorf("%s sorted by %s: %+v", at, column, head)
	}
	if len(sorted.rows) != len(s.rows) {
		t.Errorf("%s sorted by %s has %d rows, %d are there", at, column, len(sorted.rows), len(s.rows))
	}
	names, rows := fileOf(t, h, sorted.file)
	compared(t, at+" sorted by "+column, *sorted, names, rows)
	n := slices.Index(names, column)
	if n < 0 {
		t.Fatalf("%s: the file has no %s: %v", at, column, names)
	}
	if !slices.IsSortedFunc(rows, func(a, b []string) int { return orderOf(a[n], b[n], down) }) {
		t.Errorf("%s is not sorted by %s (from its end: %t): %v", at, column, down, rows)
	}
}

// TestTablesOfOnePage: the tables of a page are sorted each by its own parameter, and the moment stays
// in their addresses. What there is not is refused; what is the first of many leads to the list.
func TestTablesOfOnePage(t *testing.T) {
	t.Parallel()
	const name = "a name"
	a := &told{answers: some(name)}
	h := opened(t, a, access.Admin)
	const batch = Path + "batches/bid0000000001"
	text := visited(h, http.MethodGet, batch+"?at=7&sort.failures=-attempt&sort.life=type", nil).Body.String()
	for _, want := range []string{`aria-sort="descending"><a href="/console/batches/bid0000000001?at=7&amp;sort.failures=attempt&amp;sort.life=type">Attempt`, `aria-sort="ascending"><a href="/console/batches/bid0000000001?at=7&amp;sort.failures=-attempt&amp;sort.life=-type">What`,
		`href="/console/batches/bid0000000001?at=7&amp;csv=life&amp;sort.failures=-attempt&amp;sort.life=type" aria-label="CSV of Life">CSV`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s:\n%s", want, text)
		}
	}
	for address, want := range map[string]string{batch + "?csv=colours": "no table colours", batch + "?sort.colours=id": "no table colours", batch + "?sort.life=colour": "follow the head", batch + "?csv=life&sort.life=colour": "follow the head"} {
		if w := visited(h, http.MethodGet, address, nil); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", address, w.Code, w.Body)
		}
	}
	for address, want := range map[string]string{batch + "?csv=jobs": Path + "jobs.csv?batch=bid0000000001", batch + "?sort.jobs=-title": Path + "jobs?batch=bid0000000001&sort=-title", batch + "?csv=jobs&sort.jobs=title": Path + "jobs.csv?batch=bid0000000001&sort=title"} {
		if w := visited(h, http.MethodGet, address, nil); w.Code != http.StatusSeeOther || w.Header().Get("Location") != want {
			t.Errorf("%s: %d %s", address, w.Code, w.Header().Get("Location"))
		}
	}
	// All are asked for of what is sorted.
	a.asked = nil
	visited(h, http.MethodGet, batch+"?sort.failures=attempt", nil)
	if !slices.Contains(a.asked, "GET /v1/batches/bid0000000001/report?limit=1000") {
		t.Errorf("asked %v", a.asked)
	}
	a.answers["/v1/batches/bid0000000001/report"].(map[string]any)["retries_total"] = 1001
	text = visited(h, http.MethodGet, batch, nil).Body.String()
	for _, want := range []string{"the first of 1,001", `href="` + batch + `/retries">Show all`, `href="` + batch + `/retries.csv" aria-label="CSV of Failed attempts"`, `href="` + batch + `/retries?sort=attempt"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page with the first of many failed attempts has no %s:\n%s", want, text)
		}
	}
	for query, want := range map[string]string{"?sort.failures=-attempt": "?sort=-attempt", "?csv=failures": ".csv", "?csv=failures&sort.failures=reason": ".csv?sort=reason"} {
		if w := visited(h, http.MethodGet, batch+query, nil); w.Header().Get("Location") != batch+"/retries"+want {
			t.Errorf("%s of many: %d %v", query, w.Code, w.Header())
		}
	}
	// As of a moment there is no list.
	text = visited(h, http.MethodGet, batch+"?at=7", nil).Body.String()
	if !strings.Contains(text, "the first of 1,001") || strings.Contains(text, "sort.failures") || strings.Contains(text, batch+"/retries") {
		t.Errorf("the page of a moment with the first of many failed attempts: %s", text)
	}
	for _, query := range []string{"?at=7&sort.failures=attempt", "?at=7&csv=failures"} {
		if w := visited(h, http.MethodGet, batch+query, nil); w.Code != http.StatusBadRequest {
			t.Errorf("%s of too many: %d", query, w.Code)
		}
	}
	if w := visited(h, http.MethodGet, Path+"jobs/jid0000000001?csv=files", nil); w.Header().Get("Location") != Path+"files.csv?job=jid0000000001" {
		t.Errorf("the files of a job: %d %v", w.Code, w.Header())
	}
	// Of nothing there is no file.
	a.answers["/v1/batches/bid0000000001"].(map[string]any)["messages"] = nil
	if text := visited(h, http.MethodGet, batch, nil).Body.String(); strings.Contains(text, "csv=mails") || !strings.Contains(text, "csv=callbacks") {
		t.Error(text)
	}
}
