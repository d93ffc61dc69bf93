package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/browser"
)

// pictures is a directory in which the pages are kept as they look, "" = none.
var pictures = os.Getenv("ACCESSION_TEST_PICTURES")

// hostile are names as outsiders may write them: markup, marks that turn a text around, very long,
// and with control characters.
var hostile = []string{`<script>document.title="taken"</script><img src=x onerror="document.title='taken'">`, "\u202Etxt.exe\u202C", "a" + strings.Repeat(" long name", 400), "bell\x07 and \x1b[31mred", `" onmouseover="document.title='taken'`}

// consoled is an installation whose console is open in a browser.
type consoled struct {
	*installation
	url                    string
	good, failed, hostile  domain.BatchID
	failedJob, file, other string
	browser                *browser.Browser
}

const password = "correct horse battery"

// console returns an installation with a batch that is completed, one that has failed and one with
// hostile names, its console, and a browser.
func newConsole(t *testing.T) *consoled {
	t.Helper()
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	c := &consoled{installation: in, browser: browser.Start(t)}
	for user, right := range map[string][]string{"olga": {"operator", "--all"}, "rita": {"reader", "--all"}, "ana": {"depositor", "--collection", "test"}} {
		in.says(0, []string{"user", "add", user})
		in.says(0, append([]string{"user", "grant", user}, right...))
		in.withPassword(user, password)
	}
	s := in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...)
	c.url = in.doorOf(s).url
	c.good = in.depositFor("test", "ana", goodServer(t)+"/batch.checkm", domain.TypeBatchManifest)
	c.hostile = in.depositFor("test", "mallory", webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ".checkm") {
			_, _ = fmt.Fprintln(w, "the content of", r.URL.Path)
			return
		}
		var rows []string
		for i, name := range hostile {
			rows = append(rows, fmt.Sprintf("http://%s/%d | | | | | %d.txt | | local-%d | A creator | %s | 2026", r.Host, i, i, i, strings.ReplaceAll(name, "|", "%7c")))
		}
		_, _ = w.Write(checkm("mrt-single-file-batch-manifest", batchColumns, rows...))
	}))+"/rows.checkm", domain.TypeFileBatchManifest)
	c.failed = in.failed(webServer(t, rowsThatFail(60))+"/rows.checkm", 60)
	in.rest(c.good)
	in.rest(c.hostile)
	in.must(in.db.QueryRow(in.ctx(), `select id from accession.job where batch_id = $1 order by id limit 1`, c.failed).Scan(&c.failedJob))
	in.must(in.db.QueryRow(in.ctx(), `select raw_file_hash from accession.file where batch_id = $1 limit 1`, c.good).Scan(&c.file))
	in.must(in.db.QueryRow(in.ctx(), `select id from accession.job where batch_id = $1 order by length(erc_what) desc limit 1`, c.hostile).Scan(&c.other))
	return c
}

// signedIn returns a tab of a user who has signed in on the page to do so.
func (c *consoled) signedIn(user string) *browser.Tab {
	c.t.Helper()
	p := c.browser.Tab(c.t)
	p.Open(c.url + "/")
	p.Fill("#name", user)
	p.Fill("#password", password+"\r")
	p.See(".who")
	return p
}

// pages are the addresses of the console's pages, with the names under which they are kept.
func (c *consoled) pages() map[string]string {
	return map[string]string{"overview": "/console/", "batches": "/console/batches", "batch": "/console/batches/" + string(c.failed), "batch-hostile": "/console/batches/" + string(c.hostile), "jobs": "/console/jobs?batch=" + string(c.failed) + "&sort=-status_since",
		"jobs-hostile": "/console/jobs?batch=" + string(c.hostile), "job": "/console/jobs/" + c.failedJob, "job-hostile": "/console/jobs/" + c.other, "files": "/console/files", "file": "/console/files/" + c.file, "queues": "/console/queues", "servers": "/console/servers",
		"empty": "/console/batches?state=held"}
}

// TestConsole: every page of the console, in a browser, in both themes and three widths: nothing is
// wider than the page, nothing goes wrong on it, nothing is asked of another host, and axe finds
// nothing; hostile names are only text; its numbers are those of the tables.
// Shows: P9
func TestConsole(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	p := c.signedIn("olga")
	for name, path := range c.pages() {
		for _, width := range []int64{360, 1200} {
			p.Look(width, width == 360)
			p.Open(c.url + path)
			c.looks(p, fmt.Sprintf("%s-%d", name, width))
		}
	}
	anonymous := c.browser.Tab(t)
	for _, width := range []int64{360, 1200} {
		anonymous.Look(width, width == 360)
		anonymous.Open(c.url + "/console/sign-in")
		c.looks(anonymous, fmt.Sprintf("sign-in-%d-%v", width, width == 360))
	}
	p.Look(1200, false)
	c.numbers(p)
	c.byKeyboard(p)
	c.withoutScript()
	c.others()
}

// looks compares what may go wrong on a page.
func (c *consoled) looks(p *browser.Tab, name string) {
	c.t.Helper()
	p.Sound(name, strings.TrimPrefix(c.url, "http://"))
	if title := browser.Eval[string](p, "document.title"); !strings.HasSuffix(title, " · Accession") || strings.Contains(title, "taken") && !strings.Contains(title, "script") {
		c.t.Errorf("%s: the title is %q", name, title)
	}
	if pictures != "" {
		c.must(os.WriteFile(filepath.Join(pictures, name+".png"), p.Picture(), 0o600))
	}
}

// numbers compares those on pages with the tables.
func (c *consoled) numbers(p *browser.Tab) {
	c.t.Helper()
	parts := func() map[string]string {
		return browser.Eval[map[string]string](p, `Object.fromEntries([...document.querySelectorAll("#state .parts")].slice(0, 1).flatMap((l) => [...l.children]).map((d) => [d.querySelector("dt").innerText.trim(), d.querySelector("dd").innerText.trim()]))`)
	}
	for _, id := range []domain.BatchID{c.good, c.failed, c.hostile} {
		p.Open(c.url + "/console/batches/" + string(id))
		got, sum := parts(), 0
		for part, where := range map[string]string{"completed": "status = 'completed'", "failed": "status = 'failed'", "held": "status = 'held'", "deleted": "status = 'deleted'", "in progress": "status not in ('completed', 'failed', 'held', 'deleted')"} {
			n := c.count("select count(*) from accession.job where batch_id = $1 and "+where, id)
			if sum += n; got[part] != fmt.Sprint(n) {
				c.t.Errorf("%s: %s %q, want %d", id, part, got[part], n)
			}
		}
		if text := p.Text(); !strings.Contains(text, fmt.Sprintf("The parts are all %d jobs", sum)) {
			c.t.Errorf("%s: %d jobs: %s", id, sum, text)
		}
	}
	for path, query := range map[string]string{"batches": "select count(*) from accession.batch", "jobs?state=failed": "select count(*) from accession.job where status = 'failed'"} {
		p.Open(c.url + "/console/" + path)
		if got, want := browser.Eval[string](p, `document.querySelector("caption .total").innerText`), fmt.Sprint(c.count(query)); got != want {
			c.t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	// All pages of a list together, and its file, are the table.
	var ids []string
	for at := "/console/jobs?limit=25&state=failed"; at != ""; {
		p.Open(c.url + at)
		ids = append(ids, browser.Eval[[]string](p, `[...document.querySelectorAll("tbody td:first-child")].map((e) => e.innerText)`)...)
		at = browser.Eval[string](p, `document.querySelector("a[rel=next]")?.getAttribute("href") ?? ""`)
	}
	csv := browser.Eval[string](p, `document.querySelector(".pages a[href*=csv]").getAttribute("href")`)
	text := browser.Eval[string](p, `fetch("`+csv+`").then((r) => r.text())`)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if want := c.count("select count(*) from accession.job where status = 'failed'"); len(ids) != want || len(lines) != want+1 || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != want {
		c.t.Errorf("%d jobs, %d lines, want %d", len(ids), len(lines), want)
	}
	p.Open(c.url + "/console/")
	if got, want := browser.Eval[string](p, `document.querySelector("a[href='/console/jobs?state=failed']").innerText`), c.count("select count(*) from accession.job where status = 'failed'"); got != fmt.Sprint(want) {
		c.t.Errorf("the overview counts %s failed jobs, want %d", got, want)
	}
}

// byKeyboard goes from the overview to a failed job with the keyboard alone.
func (c *consoled) byKeyboard(p *browser.Tab) {
	c.t.Helper()
	p.Open(c.url + "/console/")
	p.Press("\t")
	if text := browser.Eval[string](p, "document.activeElement.innerText"); text != "Skip to the content" {
		c.t.Errorf("the first stop is %q", text)
	}
	p.Press("\r\t")
	if !browser.Eval[bool](p, `document.getElementById("main").contains(document.activeElement)`) {
		c.t.Error("the way to the content does not lead there")
	}
	follow := func(selector string) {
		c.t.Helper()
		for range 200 {
			if browser.Eval[bool](p, `document.activeElement.matches(`+fmt.Sprintf("%q", selector)+`)`) {
				if !browser.Eval[bool](p, `getComputedStyle(document.activeElement).outlineStyle !== "none"`) {
					c.t.Errorf("where the keyboard is, cannot be seen: %s", selector)
				}
				from := p.At()
				p.Press("\r")
				waitFor(c.t, "the page behind "+selector, func() bool { return p.At() != from })
				p.See("footer")
				return
			}
			p.Press("\t")
		}
		c.t.Fatalf("no key leads to %s on %s", selector, p.At())
	}
	follow("#person a")
	follow("tbody a[href*='" + string(c.failed) + "']")
	follow("#state a[href*='failed']")
	follow("tbody a[href*='" + c.failedJob + "']")
	if got := p.At(); got != "/console/jobs/"+c.failedJob {
		c.t.Errorf("the way led to %s", got)
	}
}

// withoutScript reads pages, chooses from a list and signs out without script.
func (c *consoled) withoutScript() {
	c.t.Helper()
	p := c.browser.Tab(c.t)
	p.WithoutScript()
	p.Open(c.url + "/console/jobs?state=failed&limit=2")
	p.Fill("#name", "rita")
	p.Fill("#password", password+"\r")
	p.See(".filter")
	if at, text := p.At(), p.Text(); at != "/console/jobs?state=failed&limit=2" || !strings.Contains(text, " UTC") || !strings.Contains(text, "Next page") {
		c.t.Errorf("%s: %s", at, text)
	}
	p.Fill("#f-batch", string(c.failed))
	p.Click(".filter button")
	waitFor(c.t, "the chosen list", func() bool { return strings.Contains(p.At(), "batch="+string(c.failed)) })
	p.Click(".who button")
	p.See("#password")
	p.Open(c.url + "/console/jobs")
	if at := p.At(); at != "/console/sign-in?next=%2Fconsole%2Fjobs" {
		c.t.Errorf("after signing out the way led to %s", at)
	}
}

// others shows a depositor what is its own, and nothing else.
func (c *consoled) others() {
	c.t.Helper()
	p := c.signedIn("ana")
	for _, path := range []string{"/console/", "/console/batches", "/console/jobs", "/console/files"} {
		p.Open(c.url + path)
		if text := p.Text(); strings.Contains(text, string(c.failed)) || strings.Contains(text, "mallory") {
			c.t.Errorf("%s shows what is of others: %s", path, text)
		}
	}
	if len(p.Wrong()) > 0 {
		c.t.Error(p.Wrong())
	}
	for _, path := range []string{"/console/batches/" + string(c.failed), "/console/jobs/" + c.failedJob, "/console/queues", "/console/servers"} {
		p.Open(c.url + path)
		if text := p.Text(); !regexp.MustCompile(`there is no such|you have no right`).MatchString(text) {
			c.t.Errorf("%s: %s", path, text)
		}
	}
	p.Open(c.url + "/console/batches/" + url.PathEscape(string(c.good)))
	if text := p.Text(); !strings.Contains(text, "completed") {
		c.t.Error(text)
	}
}
