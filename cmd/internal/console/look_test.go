package console

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/internal/testkit/browser"
)

// pictures is a directory in which the pages of docs/console.md are kept as they look, "" = none.
var pictures = os.Getenv("ACCESSION_TEST_PICTURES")

// hostileName has markup, marks that turn a text around and control characters, and is very long.
var hostileName = `<script>document.title="taken"</script>"'><img src=x onerror="document.title='taken'">` + "\u202Egpj.exe\x07 \x1b[31m" + strings.Repeat("long", 1024)

// TestPagesInABrowser: every page in both themes and three widths, with ordinary and with hostile
// names, for operators, and for depositors as far as they have it, and forms that were refused:
// nothing is wider than the page, nothing goes wrong on it, nothing is asked of another host, and axe
// finds nothing. A page is loaded once for all its looks, and several are looked at at once.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	for _, kind := range []struct {
		name, written string // what outsiders wrote
		role          access.Role
		pages         []string
		refused       bool // all that is sent
	}{
		{"plain", "Letters of 1923", access.Operator, slices.Concat(pagesOfAll(), reportsOfAll), false},
		{"hostile", hostileName, access.Operator, slices.Concat(pagesOfAll(), reportsOfAll), false},
		{"depositor", "Letters of 1923", access.Depositor, pagesOfDepositors, false},
		{"refused", hostileName, access.Admin, pagesWithForms, true},
	} {
		pages := make(chan string, len(kind.pages))
		for _, path := range kind.pages {
			pages <- path
		}
		close(pages)
		answers := some(kind.written)
		maps.Copy(answers, someReports(t, kind.written))
		for tab := range 2 {
			t.Run(fmt.Sprint(kind.name, tab), func(t *testing.T) {
				t.Parallel()
				a := &told{answers: maps.Clone(answers)}
				if kind.refused {
					a.refusal = problem.Of(app.Refused, kind.written, kind.written)
				}
				s := httptest.NewServer(opened(t, a, kind.role))
				t.Cleanup(s.Close)
				tab := b.Tab(t)
				for path := range pages {
					looked(t, tab, s.URL, path, kind.name)
				}
			})
		}
	}
}

// pagesOfDepositors are the addresses of pages that look otherwise to them, or that are for them.
var pagesOfDepositors = []string{Path, Path + "batches", Path + "batches/bid0000000001", Path + "jobs", Path + "jobs/jid0000000001", Path + "files", Path + "files/" + strings.Repeat("ab", 32), Path + "failures", Path + "events", Path + "more", Path + "objects/ark:%2F1%2Fx",
	Path + "queries/qid0000000001", Path + "slots/s1", Path + "datasets/d1", Path + "compute/eid0000000001", Path + "new", Path + "deposits/u1", Path + "reports?batch=bid0000000001", Path + "nowhere"}

// pagesWithForms are the addresses of forms. With what they ask for in a fragment, as a selector and a
// text, they are sent, and it is looked at what answers.
var pagesWithForms = []string{Path + "jobs/jid0000000001/do/requeue", Path + "jobs/all?verb=requeue&state=failed", Path + "new#url https://data.example.org/a", Path + "people/ana/do/set#a-display_name Ana", Path + "people/ana/do/grant", Path + "new-user#a-name otto",
	Path + "jobs/all?verb=hold&state=pending#reason because", Path + "people/ana/do/disable#reason because", Path + "deposits/u1/do/rm#reason because"}

// looked loads a page, and looks at it in every width and theme.
func looked(t *testing.T, tab *browser.Tab, at, path, kind string) {
	to, field, sends := strings.Cut(path, "#")
	tab.Open(at + to)
	if sends {
		id, text, _ := strings.Cut(field, " ")
		browser.Eval[bool](tab, `(document.body.id = "before") !== ""`)
		tab.Fill("#"+id, text+"\r")
		tab.See("body:not(#before) .problem")
	}
	for _, width := range []int64{360, 1200, 2560} {
		for _, dark := range []bool{false, true} {
			if kind != "plain" && dark != (width == 1200) {
				continue // both themes have the same measures
			}
			tab.Look(width, dark)
			about := fmt.Sprintf("%s %s %d dark=%t", kind, path, width, dark)
			tab.Sound(about, strings.TrimPrefix(at, "http://"))
			if title := browser.Eval[string](tab, "document.title"); !strings.HasSuffix(title, " · Accession") && !slices.Contains(reportsOfAll, path) || strings.HasPrefix(title, "taken") {
				t.Errorf("%s: the title is %q", about, title)
			}
			if name := pictured(path); pictures != "" && name != "" && kind == "plain" && width == 1200 && !dark {
				if err := os.WriteFile(filepath.Join(pictures, name+".png"), tab.Picture(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// pictured returns the name of the picture of an address, "" = there is none.
func pictured(path string) string {
	for _, is := range pictureOf {
		if is.address != "" && Path+is.address == path {
			return is.name
		}
	}
	return ""
}
