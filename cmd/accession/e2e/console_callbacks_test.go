package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/browser"
)

// TestConsoleShowsCallbacks: the page of a batch has the callbacks about its jobs, first that which
// did not arrive, with the receiver, the attempts and why; nothing of the URL but its host. What the
// receiver takes after the job is requeued shows as delivered. Where there are many, a list has all, and so it is
// with failed attempts.
func TestConsoleShowsCallbacks(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	c := &consoled{installation: in, browser: browser.Start(t)}
	in.says(0, []string{"user", "add", "olga"})
	in.says(0, []string{"user", "grant", "olga", "operator", "--all"})
	in.withPassword("olga", password)
	const hidden = "s3cret-of-the-receiver"
	refuse := make(chan struct{}) // closed: everything is taken
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		in.should(err)
		switch {
		case r.Method == http.MethodPost && r.URL.RawQuery != "token="+hidden:
			t.Errorf("the callback has the query %q", r.URL.RawQuery)
		case r.Method == http.MethodPost && bytes.Contains(body, []byte("two.txt")):
			select {
			case <-refuse:
			default:
				w.WriteHeader(http.StatusForbidden)
			}
		case strings.HasSuffix(r.URL.Path, ".checkm"):
			row := func(name string) string {
				return "http://" + r.Host + "/" + name + " | | | | | " + name + " | | | A creator | " + name + " | 2026"
			}
			_, _ = w.Write(checkm("mrt-single-file-batch-manifest", batchColumns, row("one.txt"), row("two.txt")))
		default:
			_, _ = io.WriteString(w, "the content of "+r.URL.Path)
		}
	}))
	in.editProfile("fetch:", "callback: {url: \""+base+"/done?token="+hidden+"\"}\nfetch:")
	c.url = in.doorOf(in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...)).url
	batch := in.depositFor("test", "ana", base+"/rows.checkm", domain.TypeFileBatchManifest)
	if v := in.rest(batch); v.Status != string(domain.BatchFailed) {
		t.Fatalf("the batch is %s", v.Status)
	}
	p := c.signedIn("olga")
	const made = `[...document.querySelectorAll("table")].filter((t) => t.caption.innerText.startsWith("Callbacks")).flatMap((t) => [...t.tBodies[0].rows]).map((r) => [...r.cells].slice(1, 4).map((e) => e.innerText).join(" "))`
	host := strings.TrimPrefix(base, "http://")
	page := c.url + "/console/batches/" + string(batch)
	for _, width := range []int64{360, 1200} {
		p.Look(width, width == 360)
		p.Open(page)
		c.looks(p, "callbacks")
	}
	if got := browser.Eval[[]string](p, made); len(got) != 2 || got[0] != host+" failed 1" || got[1] != host+" delivered 1" {
		t.Errorf("%q", got)
	}
	c.reads(p, "the receiver answered 403")
	for name, text := range map[string]string{"the page": browser.Eval[string](p, "document.documentElement.outerHTML"),
		"the answer": in.says(0, []string{"batch", "show", "-o", "json", string(batch)}), "the text": in.says(0, []string{"batch", "show", string(batch)}, "callback of jid", "failed", host)} {
		if strings.Contains(text, hidden) || strings.Contains(text, base+"/done") {
			t.Errorf("%s has the URL of the receiver: %s", name, text)
		}
	}
	close(refuse)
	browser.Eval[bool](p, "window.kept = true")
	in.says(0, []string{"bulk", "begin", "job", "requeue", "--batch", string(batch), "--state", "failed", "--yes", "--reason", "the receiver is well"})
	waitFor(t, "the callback that arrives, on the open page", func() bool {
		got := browser.Eval[[]string](p, made)
		return len(got) == 2 && strings.Contains(strings.Join(got, "\n"), host+" delivered 2")
	})
	if !browser.Eval[bool](p, "window.kept === true") {
		t.Error("the page was loaded again")
	}
	c.listsCallbacks(p, page, batch)
	c.listsRetries(p, page, batch)
	if wrong := p.Wrong(); len(wrong) > 0 {
		t.Error(wrong)
	}
}

// longList is a list of the console of what the jobs of a batch have, of which there are many.
type longList struct {
	path, caption string // of the page, after that of the batch, and of its table
	rows          string // what there is: a statement that selects job_id, up to the conditions
	order         string // of the list
	filter        string // of a part of it, as its address and as its conditions have it
	where         string
	sort, by      string // another order, as its address and as SQL have it
	all, chosen   int
	flags         []string // of the command with that filter
}

// listsCallbacks compares the list of many callbacks with statements.
func (c *consoled) listsCallbacks(p *browser.Tab, page string, batch domain.BatchID) {
	c.t.Helper()
	_, err := c.db.Exec(c.ctx(), `insert into record.delivery (key, channel, about, batch_id, job_id, recipients, state, attempts, last_error, last_attempt_at)
		select 'made/' || n, 'callback', 'job', $1, 'jid' || lpad((1000 + n)::text, 10, '0'), array['https://example.org/done'], case n % 4 when 0 then 'failed' else 'delivered' end, n * 37 % 101, '', now() from generate_series(1, 1200) n`, batch)
	c.must(err)
	c.lists(p, page, batch, longList{path: "/callbacks", caption: "Callbacks", rows: "select job_id from record.delivery where batch_id = $1 and channel = 'callback'", order: "created_at desc, key desc",
		filter: "state=failed", where: "state = 'failed'", sort: "-attempts", by: "attempts desc, created_at desc, key desc", all: 1202, chosen: 300, flags: []string{"--state", "failed"}})
}

// listsRetries compares the list of many failed attempts with statements.
func (c *consoled) listsRetries(p *browser.Tab, page string, batch domain.BatchID) {
	c.t.Helper()
	_, err := c.db.Exec(c.ctx(), `insert into accession.retry (job_id, number, attempt, batch_id, status, class, code, message, worker, failed_at, outcome)
		select 'jid' || lpad((1000 + n / 2)::text, 10, '0'), 5 + n % 2, 1 + n % 2, $1, 'processing', 'system', case n % 4 when 0 then 'timeout' else 'http_status' end, 'why', '', now() - n * 37 % 101 * interval '1 minute', 'open' from generate_series(1, 1200) n`, batch)
	c.must(err)
	failed := c.count("select count(*) from accession.retry where kind = 'job' and batch_id = '" + string(batch) + "'")
	c.lists(p, page, batch, longList{path: "/retries", caption: "Failed attempts", rows: "select job_id from accession.retry where batch_id = $1 and kind = 'job'", order: "job_id, attempt",
		filter: "code=timeout", where: "code = 'timeout'", sort: "-failed_at", by: "failed_at desc, job_id, attempt", all: failed, chosen: 300, flags: []string{"--code", "timeout"}})
}

// lists compares a long list, on all its pages, in another order, as a file and as a command lists it,
// with statements.
func (c *consoled) lists(p *browser.Tab, page string, batch domain.BatchID, l longList) {
	c.t.Helper()
	ids := func(conditions string) []string {
		c.t.Helper()
		rows, err := c.db.Query(c.ctx(), l.rows+conditions, batch)
		c.must(err)
		all, err := pgx.CollectRows(rows, pgx.RowTo[string])
		c.must(err)
		return all
	}
	rows := `[aria-label="` + l.caption + `"] tbody tr`
	p.Open(page)
	if first := browser.Eval[int](p, `document.querySelectorAll('`+rows+`').length`); first != 50 {
		c.t.Errorf("the page of the batch has %d %s", first, l.caption)
	}
	p.Click(`p.note a[href$="` + l.path + `"]`)
	p.See("form.filter #f-job")
	c.looks(p, "list "+l.path)
	shown := `[...document.querySelectorAll('` + rows + `')].map((r) => r.children[0].innerText)`
	var got []string
	for _, limit := range []string{"?limit=1000", ""} {
		if limit != "" {
			p.Open(page + l.path + limit)
		} else {
			p.Open(c.url + browser.Eval[string](p, `document.querySelector("a[rel=next]").getAttribute("href")`))
		}
		got = append(got, browser.Eval[[]string](p, shown)...)
	}
	if want := ids(" order by " + l.order); len(want) != l.all || l.all <= 1000 || !slices.Equal(got, want) {
		c.t.Errorf("two pages have %d %s, of %d: %v", len(got), l.caption, len(want), got)
	}
	p.Open(page + l.path + "?" + l.filter + "&sort=" + l.sort + "&limit=1000")
	want := ids(" and " + l.where + " order by " + l.by)
	if got := browser.Eval[[]string](p, shown); len(want) != l.chosen || !slices.Equal(got, want) {
		c.t.Errorf("%s by %s: %v, want %v", l.caption, l.sort, got, want)
	}
	lines := strings.Split(strings.TrimSpace(browser.Eval[string](p, `fetch("/console/batches/`+string(batch)+l.path+`.csv?`+l.filter+"&sort="+l.sort+`").then((r) => r.text())`)), "\n")
	for i, line := range lines {
		lines[i], _, _ = strings.Cut(line, ",")
	}
	if lines[0] != "job_id" || !slices.Equal(lines[1:], want) {
		c.t.Errorf("the file has %v, want %v", lines, want)
	}
	command := append([]string{"batch", strings.TrimPrefix(l.path, "/"), string(batch), "--limit", "2"}, l.flags...)
	var items app.Page[struct{}]
	c.must(json.Unmarshal([]byte(c.says(0, append(command, "-o", "json"))), &items))
	c.says(0, append(command, "--cursor", string(items.Next)), ids(" and " + l.where + " order by " + l.order + " offset 2 limit 1")[0])
	c.says(4, []string{command[0], command[1], "bid0000009999"}, "there is no such batch")
}
