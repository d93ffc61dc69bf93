package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/browser"
)

// TestConsoleNumbers: what pages count, and since when, is what independent statements say of the
// tables; times are in the zone of the browser, and in UTC on demand; printed pages and reports have
// nothing that is only for a screen, failures first, and are not cut off.
func TestConsoleNumbers(t *testing.T) {
	t.Parallel()
	c := newConsole(t, 60)
	p := c.signedIn("olga")
	c.unlikeEachOther(p)
	c.figures(p)
	c.zones(p)
	c.printed(p)
}

// unlikeEachOther has deposits wait, jobs wait, a slot, queries and a bulk action that ends, so that
// pages count more than nothing.
func (c *consoled) unlikeEachOther(p *browser.Tab) {
	c.t.Helper()
	c.says(0, []string{"dataset", "add", "nights", "--profile", "test", "--reason", "to look at it"})
	c.says(0, []string{"slot", "add", "nights", "20261127", "--from", "2126-11-27T18:00Z", "--to", "2126-11-28T09:00Z"})
	c.says(0, []string{"slot", "add", "nights", "20261128", "--from", "2126-11-28T18:00Z", "--to", "2126-11-29T09:00Z"})
	list := filepath.Join(c.t.TempDir(), "shelf.txt")
	c.must(os.WriteFile(list, []byte("ark:/99999/none\n"), 0o600))
	c.says(0, []string{"query", "submit", "--submitter", "ana", list})
	p.Open(c.url + "/console/jobs/all?verb=requeue&state=failed&batch=" + string(c.failed))
	p.Fill("#reason", "the server is back\r")
	waitFor(c.t, "the end of the bulk action", func() bool { return c.count(`select count(*) from record.bulk_action where ended_at is not null`) == 1 })
	c.seenOf(c.failed, 120, domain.EventJobFailed)
	c.says(0, []string{"queue", "pause", "pending", "--reason", "jobs wait", "--yes"})
	waiting := c.depositFor("test", "ana", webServer(c.t, rowsThatFail(7))+"/rows.checkm", domain.TypeFileBatchManifest)
	waitFor(c.t, "jobs that wait", func() bool {
		return c.count(`select count(*) from accession.job where batch_id = $1 and status = 'pending'`, waiting) == 7
	})
	c.says(0, []string{"queue", "suspend", "metadata", "--reason", "deposits wait", "--yes"})
	for _, by := range []string{"ana", "ana", "mallory"} {
		c.depositFor("test", by, webServer(c.t, http.NotFoundHandler())+"/one.txt", domain.TypeFile)
	}
	c.shown()
}

// rowsIn returns an expression of the rows of a table on a page: of each the texts of columns, joined
// by a bar; numbers are without separators.
func rowsIn(table string, columns ...int) string {
	return fmt.Sprintf(`[...document.querySelectorAll("[aria-label='%s'] tbody tr")].map((r) => %s.map((i) => r.children[i].innerText.trim().replace(/(\d),(?=\d)/g, "$1")).join("|"))`, table, strings.ReplaceAll(fmt.Sprint(columns), " ", ", "))
}

// factsIn is rowsIn of facts, without those of nothing, and of those only some if labels are given.
func factsIn(section string, labels ...string) string {
	quoted := ""
	for _, l := range labels {
		quoted += fmt.Sprintf("%q, ", l)
	}
	return `[...document.querySelectorAll("` + section + ` dl > div")].map((d) => [d.querySelector("dt").innerText.trim(), d.querySelector("dd").innerText.trim().replace(/(\d),(?=\d)/g, "$1")]).filter(([l, n]) => n !== "0" && ([` + quoted + `].includes(l) || ` + fmt.Sprint(len(labels) == 0) + `)).map((f) => f.join("|"))`
}

// figures compares what is on pages with what statements say that the service does not have.
func (c *consoled) figures(p *browser.Tab) {
	c.t.Helper()
	const zone = `'America/Bogota', 'YYYY-MM-DD HH24:MI:SS'` // of the browser
	sumOfFiles := `select part || '|' || count(*) from (select case status when 'PROCESSED' then 'processed' when 'SKIPPED' then 'skipped' when 'ABANDONED' then 'given up' when 'IGNORE' then 'skipped' else 'in progress' end as part from accession.file where %s = $1) as f group by part`
	batch, failed := "batches/"+string(c.good), "batches/"+string(c.failed)
	var job, bulk string
	c.must(c.db.QueryRow(c.ctx(), `select job_id from accession.file where batch_id = $1 group by job_id order by count(*) desc, job_id limit 1`, c.good).Scan(&job))
	c.must(c.db.QueryRow(c.ctx(), `select id from record.bulk_action`).Scan(&bulk))
	for _, f := range []struct {
		page, shows, sql string
		args             []any
	}{
		{batch, `[...document.querySelectorAll("#state .parts")].slice(1, 2).flatMap((l) => [...l.children]).map((d) => d.innerText.replace(/\s*\n\s*/g, " ").trim()).map((t) => t.replace(/ (\d+)$/, "|$1")).filter((t) => !t.endsWith("|0"))`, fmt.Sprintf(sumOfFiles, "batch_id"), []any{c.good}},
		{batch, `[...document.querySelectorAll("#state .parts")].slice(2).flatMap((l) => [...l.children]).map((d) => d.innerText.replace(/\s*\n\s*/g, " ").trim()).filter((t) => !t.endsWith(" 0 B"))`, `select 'downloaded ' || sum(size) || ' B' from accession.file where batch_id = $1`, []any{c.good}},
		{batch, factsIn("main > section:last-of-type", "Files", "Depositor", "Type", "Submitted"), `select 'Files|' || (select count(*) from accession.file where batch_id = $1) union all select 'Depositor|' || submitter from accession.batch where id = $1 union all select 'Type|' || replace(type, '-', ' ') from accession.batch where id = $1 union all select 'Submitted|' || to_char(submitted_at at time zone ` + zone + `) from accession.batch where id = $1`, []any{c.good}},
		{failed, rowsIn("Reports", 0, 3, 4), `select report || '|' || successful || '|' || failed from accession.batch_report where batch_id = $1`, []any{c.failed}},
		{"jobs/" + job, rowsIn("States", 0, 1), `select replace(to_status, '_', ' ') || '|' || to_char(at at time zone ` + zone + `) from accession.job_transition where job_id = $1`, []any{job}},
		{"jobs/" + job, `[document.querySelector("#files .bar").getAttribute("aria-label").replace("files: ", "")]`, `select string_agg(n || ' ' || part, ', ' order by part) from (select count(*) as n, case status when 'PROCESSED' then 'processed' when 'SKIPPED' then 'skipped' else 'in progress' end as part from accession.file where job_id = $1 group by part) as f`, []any{job}},
		{"", factsIn("#sums"), `select replace(status, '_', ' ') || '|' || count(*) from accession.batch group by status`, nil},
		{"", rowsIn("Live jobs by state", 0, 1) + `.filter((r) => !r.endsWith("|0"))`, `select replace(status, '_', ' ') || '|' || count(*) from accession.job where status not in ('completed', 'deleted') group by status`, nil},
		{"failures", rowsIn("Failed jobs by reason", 0, 4, 5, 6), `select count(*) || '|' || split_part(payload_url, '/', 3) || '|' || 'test' || '|' || profile_name from accession.job where status = 'failed' group by reason_code, split_part(payload_url, '/', 3), profile_name`, nil},
		{"bulk", rowsIn("Bulk actions", 0, 4, 5, 6), `select id || '|' || matched || '|' || (select count(*) from record.bulk_item where action_id = id and outcome = 'done') || '|' || (select count(*) from record.bulk_item where action_id = id and outcome = 'refused') from record.bulk_action`, nil},
		{"bulk/" + bulk, factsIn("#state"), `select outcome || '|' || count(*) from record.bulk_item where action_id = $1 group by outcome`, []any{bulk}},
		{"queues", rowsIn("Queues of jobs", 0, 1) + `.filter((r) => !r.endsWith("|0") && !r.startsWith("ingest"))`, `select status || '|' || count(*) from accession.job where status not in ('completed', 'held', 'deleted') group by status`, nil},
		{"queues", factsIn("#board-metadata", "Waiting", "Running"), `select case when grabbed_at is null then 'Waiting' else 'Running' end || '|' || count(*) from accession.deposit where queue = 'metadata' and ended_at is null group by grabbed_at is null`, nil},
		{"queues", `[...document.querySelectorAll("#board-metadata tbody tr")].map((r) => [0, 1].map((i) => r.children[i].innerText.trim()).join("|")).filter((r) => !r.endsWith("|0"))`, `select user_name || '|' || count(*) from accession.deposit where queue = 'metadata' and grabbed_at is null group by user_name`, nil},
		{"slots", rowsIn("Slots", 0, 1, 2, 4), `select id || '|' || lower(status) || '|' || to_char(opens_at at time zone ` + zone + `) || '|' || files_arrived from accession.slot`, nil},
		{"queries", rowsIn("Queries", 0, 1, 2, 3), `select id || '|' || lower(status) || '|' || submitter || '|' || to_char(received_at at time zone ` + zone + `) from accession.query`, nil},
		{"servers", factsIn("#servers", "Last sequence of the log", "Events not in the tables yet"), `select 'Last sequence of the log|' || max(seq) from accession.event`, nil},
		{"reports/collections", rowsIn("Collections", 0, 1, 2, 3), `select 'test|' || status || '|' || count(*) || '|' || sum(coalesce(files, 0)) from accession.job group by status`, nil},
		{"reports/submitters", rowsIn("Submitters", 0, 1, 2, 3), `select submitter || '|' || count(*) || '|' || count(*) filter (where status = 'completed') || '|' || count(*) filter (where status = 'failed') from accession.batch group by submitter`, nil},
		{"reports/throughput", rowsIn("Days (UTC)", 0, 1), `select to_char(submitted_at at time zone 'UTC', 'YYYY-MM-DD') || '|' || count(*) from accession.batch group by to_char(submitted_at at time zone 'UTC', 'YYYY-MM-DD')`, nil},
		{"reports/states", rowsIn("Seconds in each state", 0, 1, 2) + `.filter((r) => r.startsWith("job|"))`, `select 'job|' || from_status || '|' || count(*) from accession.job_transition where seconds is not null and from_status <> '' group by from_status`, nil},
		{"reports/failures", rowsIn("Reasons", 1, 4), `select status || '|' || count(*) from accession.retry group by status, class, code`, nil},
		{"reports/batch?batch=" + string(c.failed), rowsIn("Why jobs failed", 0, 2), `select count(*) || '|' || split_part(payload_url, '/', 3) from accession.job where batch_id = $1 and status = 'failed' group by reason_code, split_part(payload_url, '/', 3)`, []any{c.failed}},
		{"reports/batch?batch=" + string(c.failed), rowsIn("Jobs", 0, 1, 8), `select id || '|' || status || '|' || retry_count from accession.job where batch_id = $1`, []any{c.failed}},
	} {
		p.Open(c.url + "/console/" + f.page)
		got := browser.Eval[[]string](p, f.shows)
		rows, err := c.db.Query(c.ctx(), f.sql, f.args...)
		c.must(err)
		want, err := pgx.CollectRows(rows, pgx.RowTo[string])
		c.must(err)
		slices.Sort(got)
		slices.Sort(want)
		if len(want) == 0 || !slices.Equal(got, want) {
			c.t.Errorf("%s has %q, want %q of %s", f.page, got, want, f.sql)
		}
	}
}

// zones compares the times on a page with the moments that they are, in the zone of the browser and
// in UTC.
func (c *consoled) zones(p *browser.Tab) {
	c.t.Helper()
	bogota := time.FixedZone("America/Bogota", -5*60*60)
	p.Open(c.url + "/console/jobs/" + c.failedJob)
	for _, zone := range []struct {
		in     *time.Location
		format string
		says   string
	}{{bogota, time.DateTime, "times are in America/Bogota"}, {time.UTC, time.DateTime + " UTC", "times are in UTC"}} {
		c.reads(p, zone.says)
		times := browser.Eval[[][]string](p, `[...document.querySelectorAll("time")].map((t) => [t.dateTime, t.innerText])`)
		for _, pair := range times {
			at, err := time.Parse(time.RFC3339Nano, pair[0])
			if err != nil || pair[1] != at.In(zone.in).Format(zone.format) {
				c.t.Errorf("%s is shown as %q where %s (%v)", pair[0], pair[1], zone.says, err)
			}
		}
		if len(times) < 3 {
			c.t.Errorf("the page of a job has %d times", len(times))
		}
		p.Click("#utc")
	}
}

// printed looks at pages and reports as they are printed on A4; reports ask for the longer side.
func (c *consoled) printed(p *browser.Tab) {
	c.t.Helper()
	for _, path := range []string{"batches/" + string(c.failed), "jobs", "reports/batch?batch=" + string(c.failed), "reports/batch?batch=" + string(c.hostile), "reports/throughput", "reports/states", "reports/submitters", "reports/failures"} {
		p.Open(c.url + "/console/" + path)
		landscape := browser.Eval[bool](p, `[...document.styleSheets].some((s) => [...s.cssRules].some((r) => [...(r.cssRules ?? [])].some((rule) => rule.type === CSSRule.PAGE_RULE && rule.style.size === "landscape")))`)
		if landscape != strings.HasPrefix(path, "reports/") {
			c.t.Errorf("%s is printed in landscape: %t", path, landscape)
		}
		p.Paper(landscape)
		if cut := browser.Eval[[]string](p, `[...document.querySelectorAll("body *")].filter((e) => e.getClientRects().length && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((e) => e.outerHTML.slice(0, 120))`); len(cut) > 0 {
			c.t.Errorf("%s is cut off where it is printed: %d elements: %q", path, len(cut), cut[:min(len(cut), 4)])
		}
		if seen := browser.Eval[[]string](p, `[...document.querySelectorAll("nav, .who, .filter, .pages, .skip, .bottom button, .actions, .moment, .all")].filter((e) => e.getClientRects().length).map((e) => e.outerHTML.slice(0, 120))`); len(seen) > 0 {
			c.t.Errorf("%s has what is only for a screen where it is printed: %q", path, seen)
		}
	}
	p.Open(c.url + "/console/reports/batch?batch=" + string(c.failed))
	if first := browser.Eval[string](p, `document.querySelector("caption").innerText`); first != "Why jobs failed" {
		c.t.Errorf("the report begins with %q", first)
	}
}
