package console

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/internal/testkit/browser"
)

// pictures is a directory in which the pages of docs/console.md are kept as they look, "" = none.
var pictures = os.Getenv("ACCESSION_TEST_PICTURES")

// hostileName has markup, marks that turn a text around and control characters, and is very long.
var hostileName = `<script>document.title="taken"</script>"'><img src=x onerror="document.title='taken'">` + "\u202Egpj.exe\x07 \x1b[31m" + strings.Repeat("long", 1024)

// lookedAt are pages that are looked at alike.
type lookedAt struct {
	name, written string // what outsiders wrote
	role          access.Role
	pages         []string
	answers       map[string]any // besides the usual ones, or in their place
	refused       bool           // all that is sent
	openID        bool           // there is a provider to sign in at
	bare          bool           // at an address that browsers keep no session for
	briefly       bool           // in each width and each theme, but not in each width in both in one run: laid out as others are that are
}

// shape is how a page is looked at.
type shape struct {
	width int64
	dark  bool
}

// looksAt are the looks at a page, in each width and each theme. Briefly it has one theme in each width,
// and turned round the other.
func looksAt(briefly, turned bool) (all []shape) {
	for _, width := range []int64{360, 1200, 2560} {
		for _, dark := range []bool{false, true} {
			if !briefly || dark != (width == 1200) != turned {
				all = append(all, shape{width, dark})
			}
		}
	}
	return all
}

// TestLooks: a page that is looked at briefly has every width and both themes in each run, and every
// theme in every width in one of two.
func TestLooks(t *testing.T) {
	t.Parallel()
	all := looksAt(false, false)
	if len(all) != 6 {
		t.Errorf("the looks are %v", all)
	}
	seen := map[shape]bool{}
	for _, turned := range []bool{false, true} {
		has := map[string]bool{}
		for _, l := range looksAt(true, turned) {
			seen[l], has[fmt.Sprint(l.width)], has[fmt.Sprint(l.dark)] = true, true, true
		}
		if len(has) != 5 {
			t.Errorf("turned %t: %v", turned, has)
		}
	}
	if len(seen) != len(all) {
		t.Errorf("in two runs only these are there: %v", seen)
	}
}

// turns returns which pages are looked at turned round in this run, as its seed draws it, nil = none is
// looked at briefly: so it is with ACCESSION_TEST_STEPS=all.
func turns(t *testing.T, pages []string) map[string]bool {
	t.Helper()
	if os.Getenv("ACCESSION_TEST_STEPS") == "all" {
		return nil
	}
	n := uint64(time.Now().UnixNano())
	if s := os.Getenv("ACCESSION_TEST_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &n); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d (ACCESSION_TEST_SEED repeats it)", n)
	r, turned := rand.New(rand.NewPCG(n, 0)), map[string]bool{}
	for _, path := range pages {
		turned[path] = r.IntN(2) == 0
	}
	return turned
}

// TestPagesInABrowser: every page in both themes and three widths, with ordinary and with hostile
// names, for operators, for administrators, and for depositors as far as they have it, forms that were
// refused, what has become of those that were not, lists without items, and the ways to sign in: nothing
// is wider than the page, nothing goes wrong on it, nothing is asked of another host, and axe finds
// nothing. A page is loaded once for all its looks, and several are looked at at once. Those with hostile
// names and some others have one theme in each width, of which the seed of the run draws.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	for _, kind := range []lookedAt{
		{name: "plain", written: "Letters of 1923", role: access.Operator, pages: slices.Concat(pagesOfAll(), reportsOfAll)},
		{name: "hostile", written: hostileName, role: access.Operator, pages: slices.Concat(pagesOfAll(), reportsOfAll), briefly: true},
		{name: "depositor", written: "Letters of 1923", role: access.Depositor, pages: pagesOfDepositors},
		{name: "administrator", written: "Letters of 1923", role: access.Admin, pages: pagesOfAdministrators, briefly: true},
		{name: "refused", written: "It has ended.", role: access.Admin, pages: pagesWithForms[:1], refused: true},
		{name: "hostile-refused", written: hostileName, role: access.Admin, pages: pagesWithForms, refused: true, briefly: true},
		{name: "done", written: "Letters of 1923", role: access.Admin, pages: pagesOfWhatIsDone, answers: doneAnswers("Letters of 1923")},
		{name: "hostile-done", written: hostileName, role: access.Admin, pages: pagesOfWhatIsDone, answers: doneAnswers(hostileName), briefly: true},
		{name: "empty", written: "Letters of 1923", role: access.Admin, pages: pagesOfNothing(), answers: nothing(), briefly: true},
		{name: "sign-in", written: "Letters of 1923", role: access.Operator, pages: []string{Path + "sign-in", Path + "sign-in#name=ana#password wrong"}, answers: map[string]any{"/v1/sessions": problem.Of(app.Unauthenticated, "the name or the password is wrong", "")}, openID: true},
		{name: "bare", written: "Letters of 1923", role: access.Operator, pages: []string{Path + "sign-in"}, bare: true},
	} {
		pages := make(chan string, len(kind.pages))
		for _, path := range kind.pages {
			pages <- path
		}
		close(pages)
		turned := turns(t, kind.pages)
		kind.briefly = kind.briefly && turned != nil
		answers := some(kind.written)
		maps.Copy(answers, someReports(t, kind.written))
		maps.Copy(answers, kind.answers)
		for tab := range 2 {
			t.Run(fmt.Sprint(kind.name, tab), func(t *testing.T) {
				t.Parallel()
				a := &told{answers: maps.Clone(answers)}
				if kind.refused {
					a.refusal = problem.Of(app.Refused, kind.written, kind.written)
				}
				if kind.openID {
					a.openID = &signsIn{}
				}
				h := opened(t, a, kind.role)
				if kind.bare {
					h = elsewhere(h)
				}
				s := httptest.NewServer(h)
				t.Cleanup(s.Close)
				tab := b.Tab(t)
				for path := range pages {
					looked(t, tab, s.URL, path, kind, turned[path] && pictures == "")
				}
			})
		}
	}
}

// pagesOfDepositors are the addresses of pages that look otherwise to them, or that are for them.
var pagesOfDepositors = []string{Path, Path + "batches", Path + "batches/bid0000000001", Path + "jobs", Path + "jobs/jid0000000001", Path + "files", Path + "files/" + strings.Repeat("ab", 32), Path + "failures", Path + "events", Path + "more", Path + "objects/ark:%2F1%2Fx",
	Path + "queries/qid0000000001", Path + "slots/s1", Path + "datasets/d1", Path + "compute/eid0000000001", Path + "new", Path + "deposits/u1", Path + "reports?batch=bid0000000001", Path + "nowhere"}

// pagesOfAdministrators are the addresses of pages that have more for them, and of the forms that
// pagesOfAll has no other of.
var pagesOfAdministrators = []string{Path + "people", Path + "people/ana", Path + "keys", Path + "profiles", Path + "profiles/test", Path + "queues", Path + "processors", Path + "compute", Path + "datasets", Path + "directories", Path + "slots", Path + "poison",
	Path + "new/dataset", Path + "new/slot", Path + "new/processor", Path + "new/timeouts", Path + "deposit-queues/metadata/do/park", Path + "deposit-queues/metadata/do/close-intake", Path + "profiles/plain/do/rm"}

// pagesWithForms are the addresses of forms. With what they ask for in fragments, as a selector and a
// text, they are sent, and it is looked at what answers; with an equals sign between them a field is
// filled only.
var pagesWithForms = []string{Path + "jobs/jid0000000001/do/requeue", Path + "jobs/all?verb=requeue&state=failed", Path + "new#url https://data.example.org/a", Path + "people/ana/do/set#a-display_name Ana", Path + "people/ana/do/grant", Path + "new-user#a-name otto",
	Path + "jobs/all?verb=hold&state=pending#reason because", Path + "people/ana/do/disable#reason because", Path + "deposits/u1/do/rm#reason because"}

// pagesOfWhatIsDone are those of forms that are carried out, or previewed after what they ask for: a
// command, one after which there is more to do, a key that is shown once, what is made, a command to
// all that are chosen.
var pagesOfWhatIsDone = []string{Path + "jobs/jid0000000001/do/requeue#reason because", Path + "collections/test/do/release#reason because", Path + "people/ana/do/set#a-display_name Ana", Path + "people/ana/do/key#a-label one#reason because", Path + "new/dataset#a-profile=maps#a-name d2#reason because",
	Path + "jobs/all?verb=hold&state=pending#reason because", Path + "deposits/u1/do/rm#reason because"}

// doneAnswers are those to these.
func doneAnswers(name string) map[string]any {
	all := some(name)
	return map[string]any{"/v1/keys": map[string]any{"id": "abcdefgh", "secret": "acc_" + strings.Repeat("k", 43), "effects": []string{name}}, "/v1/collections/test/release": map[string]any{"id": "test", "effects": []string{name}}, "/v1/datasets/d2/add": map[string]any{"id": "d2", "effects": []string{name}},
		"/v1/users/ana/set": all["/v1/users/ana/disable"], "/v1/bulk-actions": merged(all["/v1/bulk-actions"].(map[string]any), map[string]any{"id": "b1"})}
}

// nothing are answers of which there are no items.
func nothing() map[string]any {
	all := map[string]any{"/v1/status": map[string]any{}, "/v1/events": ": end\n\n", "/v1/batches/bid0000000001": map[string]any{"id": "bid0000000001", "status": "pending"}, "/v1/jobs/jid0000000001": map[string]any{"id": "jid0000000001", "status": "pending"}}
	for at, answer := range some("a name") {
		if of, is := answer.(map[string]any); is && of["items"] != nil {
			all[at] = map[string]any{"items": []any{}, "total": 0}
		}
	}
	for report, of := range map[string]string{"collections": "collections", "failures": "reasons", "submitters": "submitters"} {
		all["/v1/reports/"+report] = map[string]any{"at": map[string]any{"seq": 7, "stored": "2026-11-28T10:00:00Z"}, "tables": map[string]any{of: []any{}}}
	}
	return all
}

// listsOfAll are the addresses of all lists after that of the console.
func listsOfAll() []string {
	lists := []string{"batches", "jobs", "files", "failures", "bulk"}
	for _, f := range (&Console{}).further() {
		lists = append(lists, f.name)
	}
	return lists
}

// pagesOfNothing are the addresses of pages that say that there is nothing.
func pagesOfNothing() []string {
	all := []string{Path, Path + "?at=7", Path + "events", Path + "queues", Path + "servers", Path + "reports", Path + "batches/bid0000000001", Path + "jobs/jid0000000001"}
	for _, name := range listsOfAll() {
		all = append(all, Path+name)
	}
	return all
}

// sent fills fields of the page, and sends its forms.
func sent(tab *browser.Tab, fields, answer string) {
	for field := range strings.SplitSeq(fields, "#") {
		if id, text, fills := strings.Cut(field, "="); fills {
			tab.Fill("#"+id, text)
			continue
		}
		id, text, _ := strings.Cut(field, " ")
		browser.Eval[bool](tab, `(document.body.id = "before") !== ""`)
		tab.Fill("#"+id, text+"\r")
		tab.See("body:not(#before) " + answer)
	}
}

// elsewhere returns the pages as they are at the address of another machine.
func elsewhere(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = "deposit.example.org"
		h.ServeHTTP(w, r)
	})
}

// looked loads a page, and looks at it in every width and theme.
func looked(t *testing.T, tab *browser.Tab, at, path string, kind lookedAt, turned bool) {
	to, fields, sends := strings.Cut(path, "#")
	tab.Open(at + to)
	if sends {
		answer := ".problem"
		if strings.HasSuffix(kind.name, "done") {
			answer = "footer"
		}
		sent(tab, fields, answer)
	}
	if bare := browser.Eval[bool](tab, `document.body.innerText.includes("has no TLS")`); bare != kind.bare {
		t.Errorf("%s %s says that it has no TLS: %t", kind.name, path, bare)
	}
	for _, l := range looksAt(kind.briefly, turned) {
		tab.Look(l.width, l.dark)
		about := fmt.Sprintf("%s %s %d dark=%t", kind.name, path, l.width, l.dark)
		tab.Sound(about, strings.TrimPrefix(at, "http://"))
		if title := browser.Eval[string](tab, "document.title"); !strings.HasSuffix(title, " · Accession") && !slices.Contains(reportsOfAll, path) || strings.HasPrefix(title, "taken") {
			t.Errorf("%s: the title is %q", about, title)
		}
		if name := pictured(kind.name, path); pictures != "" && name != "" && l.width == 1200 && !l.dark {
			if err := os.WriteFile(filepath.Join(pictures, name+".png"), tab.Picture(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
