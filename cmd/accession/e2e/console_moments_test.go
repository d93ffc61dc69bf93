package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/testkit/browser"
)

// looked is all that a page says of a moment.
type looked struct {
	State, Since, Why string
	Parts             [][]string          // of each sum and each walk that has a legend: its parts with what they count
	Sums              []string            // of each bar outside of tables what it says to those who do not see it
	Tables            map[string][]string // by title their rows, the cells of which are joined by bars
	Facts             map[string]string
	Notes             []string // below tables
}

// looks is an expression of what a page says. A time is the moment that it is, a bar what it says, a
// number has no separators, and a dash is nothing.
const looks = `(() => {
	const said = (e) => {
		if (!e) return "";
		const time = e.querySelector("time"), bar = e.querySelector("svg.bar"), text = e.textContent.trim();
		if (time) return time.dateTime;
		if (bar) return bar.getAttribute("aria-label");
		if (e.querySelector(".none")) return "";
		return /^\d{1,3}(,\d{3})+( [A-Za-z]+)?$/.test(text) ? text.replaceAll(",", "") : text;
	};
	const main = document.getElementById("main"), all = (selector) => [...main.querySelectorAll(selector)];
	return {
		State: said(main.querySelector(".big .state")),
		Since: main.querySelector(".big time")?.dateTime ?? "",
		Why: main.querySelector(".why")?.textContent.trim().replace("Why: ", "") ?? "",
		Parts: all("dl.parts").map((l) => [...l.children].map((d) => d.querySelector("dt").textContent.trim() + "|" + said(d.querySelector("dd")))),
		Sums: all("svg.bar").filter((b) => !b.closest("table")).map((b) => b.getAttribute("aria-label")),
		Tables: Object.fromEntries(all(".rows").map((t) => [t.getAttribute("aria-label"), [...t.querySelectorAll("tbody tr")].map((r) => [...r.children].map(said).join("|"))])),
		Facts: Object.fromEntries(all("dl.facts > div").map((d) => [d.querySelector("dt").textContent, said(d.querySelector("dd"))])),
		Notes: all("section .note").map((n) => n.textContent),
	};
})()`

// compare compares what a page says of a moment with what it must.
func (c *consoled) compare(p *browser.Tab, path string, seq uint64, want looked) {
	c.t.Helper()
	p.Open(fmt.Sprintf("%s/console/%s?at=%d", c.url, path, seq))
	if text := p.Text(); !strings.Contains(text, fmt.Sprintf("As it was at sequence %d of the log", seq)) {
		c.t.Errorf("%s at %d: %s", path, seq, text)
	} else if diff := gocmp.Diff(want, browser.Eval[looked](p, looks), cmpopts.EquateEmpty()); diff != "" {
		c.t.Errorf("%s at %d (-log +page):\n%s", path, seq, diff)
	}
}

// moments compares all that the overview, and the pages of a batch, of a job and of a file say at 30
// random sequences of the whole log with what it says up to there; what was not there yet has no page.
func (c *consoled) moments(p *browser.Tab) {
	c.t.Helper()
	c.seenOf(c.failed, 2*requeued, domain.EventJobFailed)
	_, err := c.app.DeleteJob(c.ctx(), domain.JobID(c.failedJob), "it is of no use")
	c.must(err)
	_, err = c.app.RequestUpdate(c.ctx(), c.failed, "for those that were requeued")
	c.must(err)
	c.seenOf(c.failed, 2, domain.EventBatchFailed)
	c.shown()
	log, err := c.wired.Log(c.ctx())
	c.must(err)
	var whole []domain.Recorded
	for r, err := range log.Read(c.ctx(), eventstore.ReadOptions{}) {
		c.must(err)
		whole = append(whole, r)
	}
	end := whole[len(whole)-1].Seq
	last := loggedTo(whole, end)
	ana := c.signedIn("ana") // a depositor, who is counted what is its own
	random := seed(c.t)
	compared := map[string]int{}
	for n := range 30 {
		seq := whole[random.IntN(len(whole))].Seq
		switch n {
		case 0:
			seq = end // where most has happened
		case 1: // when the batch that had failed went on, to which its life leads
			seq = whole[slices.IndexFunc(whole, func(r domain.Recorded) bool { return r.Type == domain.EventBatchUpdateRequested })].Seq
		}
		then := loggedTo(whole, seq)
		c.compare(p, "", seq, then.overview(""))
		c.compare(ana, "", seq, then.overview("ana"))
		for path, of := range map[string]struct {
			kind domain.Kind
			page func(id string) (looked, bool)
		}{"batches": {domain.KindBatch, then.batch}, "jobs": {domain.KindJob, then.job}, "files": {domain.KindFile, then.file}} {
			ids := slices.Sorted(maps.Keys(last.of[of.kind]))
			id := ids[random.IntN(len(ids))]
			if n < 2 && of.kind == domain.KindBatch {
				id = string(c.failed)
			} else if n == 0 && of.kind == domain.KindJob {
				id = c.failedJob
			}
			if want, was := of.page(id); was {
				compared[path]++
				c.compare(p, path+"/"+id, seq, want)
				continue
			}
			p.Open(fmt.Sprintf("%s/console/%s/%s?at=%d", c.url, path, id, seq))
			if text := p.Text(); !strings.Contains(text, fmt.Sprintf("the log had nothing of it at sequence %d,", seq)) {
				c.t.Errorf("%s %s at %d, when there was none: %s", path, id, seq, text)
			}
		}
	}
	c.compare(ana, "", end, last.overview("ana"))
	if text := ana.Text(); !strings.Contains(text, "ana") || strings.Contains(text, "mallory") {
		c.t.Errorf("the overview of a depositor as of a moment: %s", text)
	}
	if wrong := ana.Wrong(); len(wrong) > 0 {
		c.t.Error(wrong)
	}
	c.t.Logf("compared with the log of %d events: %v", len(whole), compared)
	p.Open(fmt.Sprintf("%s/console/batches/%s?at=%d", c.url, c.failed, end))
	p.Click(".moment a")
	waitFor(c.t, "the page as it is now", func() bool { return p.At() != "" && !strings.Contains(p.At(), "at=") })
}
