package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/browser"
)

// pictures is a directory in which the pages of docs/console.md are kept as they look, "" = none.
var pictures = os.Getenv("ACCESSION_TEST_PICTURES")

// pictured are the pages of which there is a picture, as far as they look in a width of 1,200 pixels.
var pictured = []string{"overview", "batches", "batch", "jobs", "job", "file", "queues", "servers", "new", "report-batch", "report-failures", "report-throughput", "many", "bulk", "failures", "events", "overview-then", "job-then", "nowhere"}

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

// requeued is how many failed jobs are requeued by one filter and with one reason.
const requeued = 200

// newConsole returns an installation with a batch that is completed, one of which so many jobs have
// failed and one with hostile names, its console, and a browser.
func newConsole(t *testing.T, failed int) *consoled {
	t.Helper()
	in := newInstallation(t, "listen_http=127.0.0.1:0", "transfer_interval=50ms")
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
	c.failed = in.failed(webServer(t, rowsThatFail(failed))+"/rows.checkm", failed)
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
		"failures": "/console/failures", "events": "/console/events", "events-of-batch": "/console/events?batch=" + string(c.hostile), "overview-then": "/console/?at=20", "job-then": fmt.Sprintf("/console/jobs/%s?at=%d", c.failedJob, c.count(`select max(seq) from accession.event where aggregate_id = $1`, c.failedJob)-1), "nowhere": "/console/nowhere", "objects": "/console/objects", "withdrawals": "/console/withdrawals", "priority": "/console/jobs/" + c.failedJob + "/do/priority", "empty": "/console/batches?state=held", "new": "/console/new", "reports": "/console/reports", "report-failures": "/console/reports/failures", "report-batch": "/console/reports/batch?batch=" + string(c.failed), "report-hostile": "/console/reports/batch?batch=" + string(c.hostile), "report-throughput": "/console/reports/throughput", "report-states": "/console/reports/states", "reports-batch": "/console/reports?batch=" + string(c.failed)}
}

// TestConsole: pages of the console over a service, in a browser, in three widths: nothing is
// wider than the page, nothing goes wrong on it, nothing is asked of another host, and axe finds
// nothing; hostile names are only text; its numbers are those of the tables.
// Shows: P9
func TestConsole(t *testing.T) {
	t.Parallel()
	c := newConsole(t, requeued)
	p := c.signedIn("olga")
	for name, path := range c.pages() {
		p.Open(c.url + path)
		c.looksOfAll(p, name)
	}
	anonymous := c.browser.Tab(t)
	anonymous.Open(c.url + "/console/sign-in")
	c.looksOfAll(anonymous, "sign-in")
	p.Look(1200, false)
	c.numbers(p)
	c.things(p)
	c.byKeyboard(p)
	c.withoutScript()
	c.zonesOfReports(p)
	c.others()
	c.acts(p)
	c.moments(p)
	c.deposits()
}

// looksOfAll looks at a page in every width, for which it is loaded once, and in one theme each:
// TestPagesInABrowser of the console looks at each page in both.
func (c *consoled) looksOfAll(p *browser.Tab, name string) {
	c.t.Helper()
	for _, width := range []int64{360, 1200, 2560} {
		p.Look(width, width != 1200)
		c.looks(p, fmt.Sprintf("%s-%d", name, width))
	}
}

// looks compares what may go wrong on a page.
func (c *consoled) looks(p *browser.Tab, name string) {
	c.t.Helper()
	p.Sound(name, strings.TrimPrefix(c.url, "http://"))
	if title := browser.Eval[string](p, "document.title"); !strings.HasPrefix(name, "report") && !strings.HasSuffix(title, " · Accession") || strings.Contains(title, "taken") && !strings.Contains(title, "script") {
		c.t.Errorf("%s: the title is %q", name, title)
	}
	if short, wide := strings.CutSuffix(name, "-1200"); wide && pictures != "" && slices.Contains(pictured, short) {
		c.must(os.WriteFile(filepath.Join(pictures, short+".png"), p.Picture(), 0o600))
	}
}

// things opens the pages of what is no batch, job or file, as the service has them.
func (c *consoled) things(p *browser.Tab) {
	c.t.Helper()
	c.says(0, []string{"dataset", "add", "nights", "--profile", "test", "--reason", "to look at it"})
	c.says(0, []string{"discover", "add", goodServer(c.t) + "/none/", "--dataset", "nights", "--reason", "to look at it"})
	c.says(0, []string{"slot", "add", "nights", "20261127", "--from", "2126-11-27T18:00Z", "--to", "2126-11-28T09:00Z"})
	c.says(0, []string{"compute", "submit", "--dataset", "nights", "--input", "https://data.example.org/a.nc"})
	list := filepath.Join(c.t.TempDir(), "shelf.txt")
	c.must(os.WriteFile(list, []byte("ark:/99999/none\n"), 0o600))
	c.says(0, []string{"query", "submit", "--submitter", "ana", list})
	c.says(0, []string{"user", "grant", "olga", "admin", "--all"})
	c.must(c.app.CatchUp(c.ctx()))
	for path, wants := range map[string][]string{
		"more": {"Objects", "Slots", "People"}, "directories": {"nights"}, "directories/nights": {"Polled every", "nights"}, "datasets": {"nights"}, "datasets/nights": {"Reconciliation", "20261127", "Open directories"},
		"slots": {"20261127"}, "compute": {"eid", "nights"}, "people/olga": {"operator", "all collections"}, "keys": {"API keys"}, "workers": {"No worker has work"}, "deposits": {"No file waits"}, "poison": {"The tables have every event"}, "audit": {"user.grant"},
	} {
		p.Open(c.url + "/console/" + path)
		text := p.Text()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				c.t.Errorf("%s does not say %q: %s", path, want, text)
			}
		}
		if wrong := p.Wrong(); len(wrong) > 0 {
			c.t.Errorf("%s: %v", path, wrong)
		}
	}
	// From a list to the page of its first item, and on to a file.
	for list, want := range map[string]string{"slots": "Opens", "compute": "https://data.example.org/a.nc", "queries": "shelf.txt", "directories": "Polled every", "datasets": "Collection"} {
		p.Open(c.url + "/console/" + list)
		p.Click("tbody tr:first-child td:first-child a")
		waitFor(c.t, "the page of the first of "+list, func() bool {
			return strings.HasPrefix(p.At(), "/console/"+list+"/") && strings.Contains(p.Text(), want)
		})
	}
	p.Open(c.url + "/console/queries")
	p.Click("tbody a")
	p.See("a[href*='report?format=html']")
	p.Click("a[href*='report?format=html']")
	c.reads(p, "ark:/99999/none")
	p.Open(c.url + "/console/objects")
	if got, want := browser.Eval[int](p, `document.querySelectorAll("tbody tr").length`), c.count("select count(*) from record.object"); got != min(want, 50) {
		c.t.Errorf("%d objects are listed, want %d", got, want)
	}
	p.Click("tbody a")
	waitFor(c.t, "the page of an object", func() bool { return strings.Contains(p.Text(), "Versions") })
	c.looks(p, "object-1200")
	p.Click("tbody a")
	waitFor(c.t, "the files of its version", func() bool { return strings.Contains(p.At(), "/versions/1") && strings.Contains(p.Text(), "SHA-256") })
	file := browser.Eval[string](p, `document.querySelector("tbody a").getAttribute("href")`)
	sum := browser.Eval[string](p, `document.querySelector("tbody tr td:last-child").innerText`)
	if got := browser.Eval[string](p, `fetch("`+file+`").then((r) => r.arrayBuffer()).then((b) => crypto.subtle.digest("SHA-256", b)).then((d) => [...new Uint8Array(d)].map((n) => n.toString(16).padStart(2, "0")).join(""))`); got != sum {
		c.t.Errorf("%s has the digest %s, want %s", file, got, sum)
	}
}

// numbers compares those on pages with the tables.
func (c *consoled) numbers(p *browser.Tab) {
	c.t.Helper()
	for _, id := range []domain.BatchID{c.good, c.failed, c.hostile} {
		p.Open(c.url + "/console/batches/" + string(id))
		got, sum := c.parts(p), 0
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
	// All pages of a list together, and its file, are the table, in the order of a column.
	var ids []string
	for at := "/console/jobs?limit=25&state=failed&sort=-title"; at != ""; {
		p.Open(c.url + at)
		ids = append(ids, browser.Eval[[]string](p, `[...document.querySelectorAll("tbody td:first-child")].map((e) => e.innerText)`)...)
		at = browser.Eval[string](p, `document.querySelector("a[rel=next]")?.getAttribute("href") ?? ""`)
	}
	sorted, err := c.db.Query(c.ctx(), `select id from accession.job where status = 'failed' order by lower(left(coalesce(nullif(erc_what, ''), file_name), 256)) collate "C" desc, id`)
	c.must(err)
	if want, err := pgx.CollectRows(sorted, pgx.RowTo[string]); err != nil || len(want) < 30 || !slices.Equal(ids, want) {
		c.t.Errorf("the pages have %v, want %v (%v)", ids, want, err)
	}
	csv := browser.Eval[string](p, `document.querySelector(".pages a[href*=csv]").getAttribute("href")`)
	text := browser.Eval[string](p, `fetch("`+csv+`").then((r) => r.text())`)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) < 2 || !strings.HasPrefix(lines[1], ids[0]+",") {
		c.t.Errorf("the file does not begin with %s: %s", ids[0], text)
	}
	if want := c.count("select count(*) from accession.job where status = 'failed'"); len(ids) != want || len(lines) != want+1 || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != want {
		c.t.Errorf("%d jobs, %d lines, want %d", len(ids), len(lines), want)
	}
	p.Open(c.url + "/console/")
	if got, want := browser.Eval[string](p, `document.querySelector("a[href='/console/jobs?state=failed']").innerText`), c.count("select count(*) from accession.job where status = 'failed'"); got != fmt.Sprint(want) {
		c.t.Errorf("the overview counts %s failed jobs, want %d", got, want)
	}
}

// parts returns the first sum on the page of a batch, that of its jobs, by its parts.
func (c *consoled) parts(p *browser.Tab) map[string]string {
	c.t.Helper()
	return c.sum(p, "#state .parts", 0)
}

// sum returns a sum on a page by its parts: of those that a selector names, the one of a number.
func (c *consoled) sum(p *browser.Tab, selector string, n int) map[string]string {
	c.t.Helper()
	return browser.Eval[map[string]string](p, `Object.fromEntries([...document.querySelectorAll(`+fmt.Sprintf("%q", selector)+`)].slice(`+fmt.Sprint(n)+`, `+fmt.Sprint(n+1)+`).flatMap((l) => [...l.children]).map((d) => [d.querySelector("dt").innerText.trim(), d.querySelector("dd").innerText.trim()]))`)
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
	c.follow(p, "#person a")
	c.follow(p, "tbody a[href*='"+string(c.failed)+"']")
	c.follow(p, "#state a[href*='failed']")
	c.follow(p, "tbody a[href*='"+c.failedJob+"']")
	if got := p.At(); got != "/console/jobs/"+c.failedJob {
		c.t.Errorf("the way led to %s", got)
	}
	c.pausesByKeyboard(p)
	c.choosesByKeyboard(p)
	c.looksBackByKeyboard()
	c.depositsByKeyboard()
}

// reach goes to an element with the key for that.
func (c *consoled) reach(p *browser.Tab, selector string) {
	c.t.Helper()
	for range 400 {
		if browser.Eval[bool](p, `document.activeElement.matches(`+fmt.Sprintf("%q", selector)+`)`) {
			if !browser.Eval[bool](p, `getComputedStyle(document.activeElement).outlineStyle !== "none"`) {
				c.t.Errorf("where the keyboard is, cannot be seen: %s", selector)
			}
			return
		}
		p.Press("\t")
	}
	c.t.Fatalf("no key leads to %s on %s", selector, p.At())
}

// follow goes to an element, presses Enter, and waits for the page behind it.
func (c *consoled) follow(p *browser.Tab, selector string) {
	c.t.Helper()
	c.reach(p, selector)
	c.leads(p, selector, "\r")
}

// leads presses keys that lead to another page, and waits for it.
func (c *consoled) leads(p *browser.Tab, from, keys string) {
	c.t.Helper()
	at := p.At()
	p.Press(keys)
	waitFor(c.t, "the page behind "+from, func() bool { is := p.At(); return is != "" && is != at })
	p.See("footer")
}

// reads waits for a text on a page.
func (c *consoled) reads(p *browser.Tab, text string) {
	c.t.Helper()
	waitFor(c.t, text+" on the page", func() bool { return strings.Contains(p.Text(), text) })
}

// pausesByKeyboard pauses a queue and resumes it with the keyboard alone.
func (c *consoled) pausesByKeyboard(p *browser.Tab) {
	c.t.Helper()
	c.follow(p, "nav a[href='/console/queues']")
	for _, verb := range []string{"pause", "resume"} {
		c.follow(p, "a[href$='queues/notify/do/"+verb+"']")
		c.reach(p, "#reason")
		p.Press("by keyboard\r")
		c.reads(p, "Done.")
		c.follow(p, "main p a")
	}
	if n := c.count(`select count(*) from accession.event where type like 'setting.%' and actor = 'user/olga'`); n < 2 {
		c.t.Errorf("%d settings were changed by keyboard", n)
	}
}

// choosesByKeyboard goes from the failures by reason to the preview of a requeue, does nothing, and
// chooses and sorts a list, with the keyboard alone.
func (c *consoled) choosesByKeyboard(p *browser.Tab) {
	c.t.Helper()
	c.follow(p, "nav a[href='/console/failures']")
	c.follow(p, "tbody a[href*='verb=requeue']")
	c.reads(p, "are chosen now")
	c.follow(p, ".act .buttons a")
	if at := p.At(); !strings.HasPrefix(at, "/console/jobs?") || !strings.Contains(at, "state=failed") {
		c.t.Errorf("the way back from the preview led to %s", at)
	}
	c.follow(p, "nav a[href='/console/jobs']")
	c.reach(p, "#f-batch")
	p.Press(string(c.failed))
	c.leads(p, "the filter", "\r")
	c.follow(p, "thead a[href*='sort=title']")
	if got := browser.Eval[string](p, `document.querySelector("th[aria-sort]").innerText`); !strings.HasPrefix(got, "Title") {
		c.t.Errorf("it is sorted by %q", got)
	}
}

// looksBackByKeyboard signs in, looks at a job as it was, at its times in UTC, and signs out, with
// the keyboard alone.
func (c *consoled) looksBackByKeyboard() {
	c.t.Helper()
	p := c.browser.Tab(c.t)
	p.Open(c.url + "/console/jobs/" + c.failedJob)
	c.reach(p, "#name")
	p.Press("rita\t" + password)
	c.leads(p, "the page to sign in", "\r")
	c.reach(p, "#at")
	p.Press(fmt.Sprint(c.count(`select max(seq) from accession.event where aggregate_id = $1`, c.failedJob)))
	c.leads(p, "the moment", "\r")
	c.reads(p, "As it was at sequence")
	c.follow(p, ".moment a")
	if browser.Eval[bool](p, `document.querySelector(".past") !== null`) {
		c.t.Error("the way back to now leads to the past")
	}
	c.reach(p, "#utc")
	p.Press("\r")
	c.reads(p, "times are in UTC")
	p.Open(c.url + "/console/")
	c.follow(p, ".who button")
	p.See("#password")
	if wrong := p.Wrong(); len(wrong) > 0 {
		c.t.Error(wrong)
	}
}

// zonesOfReports opens reports in the zone of the browser, and in UTC when that is chosen.
func (c *consoled) zonesOfReports(p *browser.Tab) {
	c.t.Helper()
	const link = "#reports a[href^='/console/reports/batch']"
	for _, zone := range []string{"America/Bogota", "UTC"} {
		p.Open(c.url + "/console/batches/" + string(c.failed))
		if zone == "UTC" {
			p.Click("#utc")
		}
		c.reads(p, "times are in "+zone)
		p.Click(link)
		c.reads(p, "Made by Accession on")
		text, times := p.Text(), regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\S*)`).FindAllStringSubmatch(p.Text(), -1)
		offset := map[string]string{"America/Bogota": "-05:00", "UTC": "Z"}[zone]
		for _, time := range times {
			if strings.TrimSuffix(time[1], ".") != offset {
				c.t.Errorf("in %s a time is %q", zone, time[0])
			}
		}
		if !strings.Contains(text, "Times are in "+zone+".") || len(times) < 60 {
			c.t.Errorf("the report in %s has %d times: %s", zone, len(times), text)
		}
	}
	p.Open(c.url + "/console/reports")
	if in := browser.Eval[int](p, `document.querySelectorAll("a[href*='zone=']").length`); in != 0 {
		c.t.Errorf("in UTC %d links name a zone", in)
	}
	p.Click("#utc")
	if in := browser.Eval[[]string](p, `[...new Set([...document.querySelectorAll("a[href*='zone=']")].map((a) => a.innerText + " " + new URL(a.href).searchParams.get("zone")))].sort()`); !slices.Equal(in, []string{"html America/Bogota", "text America/Bogota"}) {
		c.t.Errorf("a zone is named by %q", in)
	}
	if wrong := p.Wrong(); len(wrong) > 0 {
		c.t.Error(wrong)
	}
}

// depositsByKeyboard signs in as a depositor, deposits what a URL names, and follows it up to its
// report, with the keyboard alone.
func (c *consoled) depositsByKeyboard() {
	c.t.Helper()
	letter := webServer(c.t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "a letter") }))
	p := c.browser.Tab(c.t)
	p.Open(c.url + "/console/")
	c.reach(p, "#name")
	p.Press("ana\t" + password)
	c.leads(p, "the page to sign in", "\r")
	c.follow(p, "nav a[href='/console/new']")
	c.reach(p, "#type")
	p.Press("file") // as a list is chosen from by the letters of a choice
	c.reach(p, "#title")
	p.Press("A letter by keyboard")
	c.reach(p, "#url")
	p.Press(letter + "/letter.txt")
	c.reach(p, ".deposit .buttons button")
	c.leads(p, "the form", "\r")
	waitFor(c.t, "the end of the batch on its page", func() bool {
		return strings.HasPrefix(p.At(), "/console/batches/") && regexp.MustCompile(`(?s)^.*A letter by keyboard\s+completed\s`).MatchString(p.Text())
	})
	c.follow(p, "#reports a[href^='/console/reports/batch']")
	c.reads(p, "Made by Accession on")
	if text := p.Text(); !strings.Contains(text, "A letter by keyboard") {
		c.t.Errorf("the report of the deposit: %s", text)
	}
	if wrong := p.Wrong(); len(wrong) > 0 {
		c.t.Error(wrong)
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
	list := filepath.Join(c.t.TempDir(), "shelf.txt")
	c.must(os.WriteFile(list, []byte("ark:/99999/none\n"), 0o600))
	c.says(0, []string{"query", "submit", "--submitter", "mallory", list})
	c.shown()
	var object string
	c.must(c.db.QueryRow(c.ctx(), `select primary_identifier from accession.job where batch_id = $1 and primary_identifier <> '' order by id limit 1`, c.hostile).Scan(&object))
	// What it has itself is on the same pages, so that they are not only empty.
	for path, own := range map[string]string{"/console/": "Overview", "/console/batches": string(c.good), "/console/jobs": string(c.good), "/console/files": string(c.good), "/console/events": "user/ana", "/console/failures": "No job has failed", "/console/objects": "ark:", "/console/queries": "ana", "/console/deposits": "No file waits", "/console/events?batch=" + string(c.good): "batch submitted"} {
		p.Open(c.url + path)
		if text := p.Text(); strings.Contains(text, string(c.failed)) || strings.Contains(text, string(c.hostile)) || strings.Contains(text, c.failedJob) || strings.Contains(text, "mallory") || strings.Contains(text, object) || !strings.Contains(text, own) {
			c.t.Errorf("%s shows what is of others, or not %q: %s", path, own, text)
		}
	}
	if len(p.Wrong()) > 0 {
		c.t.Error(p.Wrong())
	}
	for _, path := range []string{"/console/batches/" + string(c.failed), "/console/jobs/" + c.failedJob, "/console/queues", "/console/servers", "/console/reports/batch?batch=" + string(c.failed), "/console/reports/failures", "/console/reports/submitters", "/console/objects/" + url.PathEscape(object), "/console/batches/" + string(c.failed) + "?at=1000000",
		"/console/jobs?batch=" + string(c.failed), "/console/events?batch=" + string(c.failed), "/console/failures?batch=" + string(c.failed), "/console/objects?submitter=mallory", "/console/queries?submitter=mallory"} {
		p.Open(c.url + path)
		if text := p.Text(); !regexp.MustCompile(`there is no |you have no right`).MatchString(text) {
			c.t.Errorf("%s: %s", path, text)
		}
	}
	p.Open(c.url + "/console/batches/" + url.PathEscape(string(c.good)))
	if text := p.Text(); !strings.Contains(text, "completed") {
		c.t.Error(text)
	}
}

// acts goes the ways of an operator: a queue is paused and resumed, and all failed jobs of a batch
// are requeued with one reason, which other windows see without being loaded again. A reader cannot.
func (c *consoled) acts(p *browser.Tab) {
	c.t.Helper()
	says := func(w *browser.Tab, what string) {
		c.t.Helper()
		waitFor(c.t, what+" on the page", func() bool { return strings.Contains(w.Text(), what) })
	}
	other, live := p.Window(), p.Window()
	other.Open(c.url + "/console/queues")
	live.Open(c.url + "/console/events?kind=setting")
	rows := func() int { return browser.Eval[int](live, `document.querySelectorAll("tbody tr").length`) }
	before := rows()
	p.Open(c.url + "/console/queues")
	p.Click(`a[href$="queues/pending/do/pause"]`)
	p.Fill("#reason", "for the backup\r")
	says(p, "Done.")
	says(other, "for the backup")
	waitFor(c.t, "the event on the page of events", func() bool { return rows() == before+1 })
	live.Click("#pause")
	p.Open(c.url + "/console/queues/pending/do/resume")
	p.Fill("#reason", "the backup is done\r")
	says(p, "Done.")
	waitFor(c.t, "the end of the pause in the other window", func() bool { return !strings.Contains(other.Text(), "for the backup") })
	if n := rows(); n != before+1 {
		c.t.Errorf("a page that is paused shows %d events, want %d", n, before+1)
	}
	live.Click("#pause")
	waitFor(c.t, "what came meanwhile", func() bool { return rows() == before+2 })

	other.Open(c.url + "/console/batches/" + string(c.failed))
	if strings.Contains(other.Text(), "failed again") {
		c.t.Error("it has failed again before anything was done")
	}
	// The failures of one reason lead to the preview of just these.
	p.Open(c.url + "/console/failures?batch=" + string(c.failed))
	if got := browser.Eval[string](p, `document.querySelector("tbody td.n").innerText`); got != strconv.Itoa(requeued) {
		c.t.Errorf("%s jobs are in the first group", got)
	}
	p.Click("tbody a[href*='verb=requeue']")
	says(p, fmt.Sprint(requeued, " jobs are chosen now"))
	p.Open(c.url + "/console/jobs?state=failed&batch=" + string(c.failed))
	browser.Eval[bool](p, `(document.getElementById("verb").value = "requeue") !== ""`)
	p.Click(".all button")
	says(p, fmt.Sprint(requeued, " jobs are chosen now"))
	c.looks(p, "many-1200")
	p.Fill("#reason", "the server is back\r")
	says(p, "the server is back")
	waitFor(c.t, "the end of the bulk action", func() bool { return regexp.MustCompile(fmt.Sprintf(`(?s)done\s+%d`, requeued)).MatchString(p.Text()) })
	c.looks(p, "bulk-1200")
	says(other, "failed again")
	if n := c.count(`select count(*) from accession.event where type = 'job.requeued' and actor = 'user/olga'`); n != requeued {
		c.t.Errorf("%d jobs were requeued", n)
	}
	if wrong := slices.Concat(p.Wrong(), other.Wrong(), live.Wrong()); len(wrong) > 0 {
		c.t.Error(wrong)
	}

	reader := c.signedIn("rita")
	reader.Open(c.url + "/console/jobs/" + c.failedJob)
	if browser.Eval[bool](reader, `document.querySelector(".actions") !== null`) {
		c.t.Error("a reader is shown actions")
	}
	reader.Open(c.url + "/console/jobs/" + c.failedJob + "/do/requeue")
	// Its preview says so already, and the answer has the reason that was sent.
	reader.Fill("#reason", "I may not\r")
	reader.See("#reason[value='I may not']")
	says(reader, "you have no right to act")
	reader.Open(c.url + "/console/jobs?state=failed&batch=" + string(c.failed))
	if browser.Eval[bool](reader, `document.getElementById("verb") !== null`) {
		c.t.Error("a reader is shown commands to all that are chosen")
	}
	reader.Open(c.url + "/console/jobs/all?verb=requeue&state=failed&batch=" + string(c.failed))
	reader.Fill("#reason", "nor to many\r")
	reader.See("#reason[value='nor to many']")
	says(reader, "you have no right to act")
	if n := c.count(`select count(*) from record.bulk_action where actor = 'user/rita'`); n != 0 {
		c.t.Errorf("a reader has begun %d bulk actions", n)
	}
	if n := c.count(`select count(*) from accession.event where type = 'job.requeued' and actor = 'user/rita'`); n != 0 {
		c.t.Errorf("a reader has requeued %d jobs", n)
	}
}

// deposits goes the ways of a depositor: a deposit fails, its page says what to mend and leads to the
// form, and mended it is completed; another one is completed although its transfer is cut off; a third
// is made without script.
func (c *consoled) deposits() {
	c.t.Helper()
	p := c.signedIn("ana")
	file := func(name string, content []byte) string {
		at := filepath.Join(c.t.TempDir(), name)
		c.must(os.WriteFile(at, content, 0o600))
		return at
	}
	deposit := func(p *browser.Tab, kind, title, at string) {
		c.t.Helper()
		p.Open(c.url + "/console/new")
		browser.Eval[bool](p, `(document.getElementById("type").value = "`+kind+`") !== "x"`)
		p.Fill("#title", title)
		p.Choose("#file", at)
	}
	ends := func(p *browser.Tab, says string) {
		c.t.Helper()
		waitFor(c.t, says+" on the page of the batch", func() bool {
			return strings.HasPrefix(p.At(), "/console/batches/") && regexp.MustCompile(says).MatchString(p.Text())
		})
	}
	other := p.Window()
	other.Open(c.url + "/console/batches")
	browser.Eval[bool](other, "window.kept = true")
	deposit(p, "container", "Letters in a container", file("letters.zip", []byte("this is no container")))
	p.Click(".deposit .buttons button")
	ends(p, "for the depositor")
	c.reads(other, "Letters in a container")
	waitFor(c.t, "the failure in another window", func() bool {
		return browser.Eval[string](other, `[...document.querySelectorAll("tbody tr")].find((r) => r.innerText.includes("Letters in a container"))?.querySelector(".state").innerText ?? ""`) == "failed"
	})
	c.looks(p, "deposit-failed")
	failed := p.At()
	p.Click(".actions a[href^='/console/new?']")
	p.See(".deposit")
	if is := browser.Eval[[]string](p, `["profile", "type", "title"].map((id) => document.getElementById(id).value)`); !slices.Equal(is, []string{"test", "container", "Letters in a container"}) {
		c.t.Errorf("the form is filled in with %q", is)
	}
	p.Choose("#file", file("letters.zip", zipOf(c.t, map[string]string{"first.txt": "a letter", "second.txt": "another letter"})))
	p.Click(".deposit .buttons button")
	ends(p, `(?s)^.*Letters in a container\s.*completed\s`)
	if p.At() == failed {
		c.t.Error("what was mended is the batch that has failed")
	}
	if n := c.count(`select count(*) from accession.file where batch_id = $1 and status = 'PROCESSED'`, strings.TrimPrefix(p.At(), "/console/batches/")); n != 2 {
		c.t.Errorf("%d files of the mended container are stored", n)
	}

	// Another window has shown both without being loaded again.
	waitFor(c.t, "both deposits in another window", func() bool {
		return slices.Equal(browser.Eval[[]string](other, `[...document.querySelectorAll("tbody tr")].filter((r) => r.innerText.includes("Letters in a container")).map((r) => r.querySelector(".state")?.innerText)`), []string{"completed", "failed"})
	})
	if !browser.Eval[bool](other, "window.kept === true") {
		c.t.Error("the other window was loaded again")
	}
	if wrong := other.Wrong(); len(wrong) > 0 {
		c.t.Error(wrong)
	}

	large := make([]byte, 9<<20+12345)
	for i := range large {
		large[i] = byte(i * i >> 7)
	}
	deposit(p, "file", "A large file", file("large.bin", large))
	browser.Eval[bool](p, `(() => {
		const whole = window.fetch;
		let pieces = 0;
		window.steps = [];
		new MutationObserver(() => sessionStorage.setItem("steps", JSON.stringify(window.steps = [...window.steps, document.getElementById("step").textContent + " / " + document.querySelector("#files small").textContent])))
			.observe(document.querySelector("form.deposit"), {childList: true, subtree: true, characterData: true});
		window.fetch = (to, how) => how?.method === "PATCH" && ++pieces === 2 ? Promise.reject(new TypeError("cut off")) : whole(to, how);
		return true;
	})()`)
	p.Click(".deposit .buttons button")
	ends(p, `(?s)^.*A large file\s+completed\s`)
	steps := browser.Eval[[]string](p, `JSON.parse(sessionStorage.getItem("steps"))`)
	for _, want := range []string{"Reading: 4.0 MiB of 9.0 MiB, 44 % / 4.0 MiB of 9.0 MiB, 44 %", "Sending: 0 B of 9.0 MiB, 0 % / 0 B of 9.0 MiB, 0 %", "Sending: 8.0 MiB of 9.0 MiB, 88 % / 8.0 MiB of 9.0 MiB, 88 %", "Sending: 9.0 MiB of 9.0 MiB, 100 % / 9.0 MiB of 9.0 MiB, 100 %"} {
		if !slices.Contains(steps, want) {
			c.t.Errorf("its progress never said %q: %q", want, steps)
		}
	}
	if n := c.count(`select count(*) from accession.file where size = $1 and status = 'PROCESSED'`, len(large)); n != 1 {
		c.t.Errorf("%d such files are stored", n)
	}
	if wrong := p.Wrong(); len(wrong) > 0 {
		c.t.Error(wrong)
	}

	plain := c.browser.Tab(c.t)
	plain.WithoutScript()
	plain.Open(c.url + "/console/new")
	plain.Fill("#name", "ana")
	plain.Fill("#password", password+"\r")
	plain.See(".deposit")
	deposit(plain, "file", "Without script", file("letter.txt", []byte("a letter")))
	plain.Click(".deposit .buttons button")
	waitFor(c.t, "the page of the deposit", func() bool { at := plain.At(); return at != "" && at != "/console/new" })
	waitFor(c.t, "the batch of the deposit", func() bool { // the page reads when it is loaded again
		plain.Open(c.url + "/console/batches")
		return strings.Contains(plain.Text(), "Without script")
	})
}

// TestConsoleOfDeadWorkers: the page of a job says within two seconds of the end of a killed worker's
// session that no worker has the job, and then which has it, without being loaded again.
// Shows: P9
func TestConsoleOfDeadWorkers(t *testing.T) {
	t.Parallel()
	in := newForProcesses(t, "attempts: 20, timeout: 1h", "listen_http=127.0.0.1:0", "fetch_response_timeout=30m")
	c := &consoled{installation: in, browser: browser.Start(t)}
	in.says(0, []string{"user", "add", "olga"})
	in.says(0, []string{"user", "grant", "olga", "operator", "--all"})
	in.withPassword("olga", password)
	c.url = in.doorOf(in.serveInProcess(run.RoleHTTP, run.RoleRelay, run.RoleProjector)).url
	slow := newHolder(t, http.MethodGet, false)
	in.depositBy("ana", slow.URL+"/slow.txt", domain.TypeFile)
	first := in.serve("--roles", "daemons,download")
	var job string
	waitFor(t, "the download", func() bool {
		return in.db.QueryRow(in.ctx(), `select id from accession.job where status = 'downloading'`).Scan(&job) == nil && slow.count(0) > 0
	})
	p := c.signedIn("olga")
	p.Open(c.url + "/console/jobs/" + job)
	holder := func() string {
		_, worker, ok := strings.Cut(p.Text(), "Locked by the worker ")
		worker, since, _ := strings.Cut(worker, ", since ")
		if since == "" {
			return ""
		}
		if !ok {
			return ""
		}
		return worker
	}
	was := ""
	waitFor(t, "the worker on the page", func() bool { was = holder(); return was != "" })
	workers := in.workersOf(first)
	first.kill()
	waitFor(t, "the end of its session", func() bool { return in.workersOf(first) < max(workers, 1) })
	ended := time.Now()
	waitFor(t, "the page to say so", func() bool { return strings.Contains(p.Text(), "No worker has it.") })
	if took := time.Since(ended); took > 2*time.Second {
		t.Errorf("the page says so after %v", took)
	}
	second := in.serve("--roles", "daemons,download")
	waitFor(t, "another worker on the page", func() bool { is := holder(); return is != "" && is != was })
	if !strings.Contains(p.Text(), "It was claimed 2 times since its last event.") {
		t.Errorf("the page does not count the claim of the one that died:\n%s", p.Text())
	}
	second.kill()
}

// TestConsoleOfDeadProcesses: 200 failed jobs are requeued from the page of their failures with one
// reason; the processes that do it are killed in the middle, and the page, which is not loaded
// again, shows how far it is and that it goes on to its end. Each job is requeued once.
// Shows: P1 P9
func TestConsoleOfDeadProcesses(t *testing.T) {
	t.Parallel()
	const jobs = 200
	in := newInstallation(t, append(forProcesses, "stop_grace=100ms", "listen_http=127.0.0.1:0")...)
	in.tell("queued")
	c := &consoled{installation: in, browser: browser.Start(t)}
	in.says(0, []string{"user", "add", "olga"})
	in.says(0, []string{"user", "grant", "olga", "operator", "--all"})
	in.withPassword("olga", password)
	c.url = in.doorOf(in.serveInProcess(run.RoleHTTP, run.RoleRelay, run.RoleProjector)).url
	first := in.serve("--roles", "daemons,transfer")
	id := in.failed(webServer(t, rowsThatFail(jobs))+"/rows.checkm", jobs)
	first.stop()
	p := c.signedIn("olga")
	p.Open(c.url + "/console/failures?batch=" + string(id))
	p.Click("tbody a[href*='verb=requeue']")
	c.reads(p, "200 jobs are chosen now")
	p.Fill("#reason", "the server is back\r")
	waitFor(t, "the page of the bulk action", func() bool { return strings.HasPrefix(p.At(), "/console/bulk/") })
	browser.Eval[bool](p, "window.kept = true")
	other := p.Window() // the batch, which shows the same without being loaded again
	other.Open(c.url + "/console/batches/" + string(id))
	browser.Eval[bool](other, "window.kept = true")
	if text, parts := other.Text(), c.parts(other); parts["failed"] != fmt.Sprint(jobs) || strings.Contains(text, "user/olga") {
		t.Errorf("before anything works the batch has %v: %s", parts, text)
	}
	stands := func() (state string, done int) {
		is := browser.Eval[[]string](p, `[document.querySelector(".big .state").innerText, document.querySelector("#state .parts dd").innerText]`)
		_, _ = fmt.Sscan(is[1], &done)
		return is[0], done
	}
	if state, done := stands(); state != "waiting" || done != 0 {
		t.Errorf("before anything works it is %s, and %d are done", state, done)
	}
	was := 0
	for _, point := range []string{"app/bulk/one/after:60", "app/bulk/one/after:70"} {
		in.killedAt(point, "serve", "--roles", "daemons")
		waitFor(t, "how far it is", func() bool {
			state, done := stands()
			return state == "running" && done > was
		})
		c.reads(other, "user/olga")
		if _, was = stands(); was >= jobs {
			t.Errorf("%d are done when the process was killed", was)
		}
	}
	last := in.serve("--roles", "daemons")
	waitFor(t, "the end on the page", func() bool { state, done := stands(); return state == "done" && done == jobs })
	last.kill()
	in.shown()
	waitFor(t, "the jobs of the batch as the tables have them in another window", func() bool {
		return c.parts(other)["failed"] == fmt.Sprint(in.count(`select count(*) from accession.job where batch_id = $1 and status = 'failed'`, id))
	})
	for _, p := range []*browser.Tab{p, other} {
		if !browser.Eval[bool](p, "window.kept === true") {
			t.Errorf("%s was loaded again", p.At())
		}
		if wrong := p.Wrong(); len(wrong) > 0 {
			t.Error(wrong)
		}
	}
	if events, of := in.count(`select count(*) from accession.event where type = 'job.requeued' and actor = 'user/olga'`),
		in.count(`select count(distinct aggregate_id) from accession.event where type = 'job.requeued' and actor = 'user/olga'`); events != jobs || of != jobs {
		t.Errorf("%d events of %d jobs", events, of)
	}
}
