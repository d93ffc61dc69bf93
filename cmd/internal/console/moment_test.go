package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain/access"
)

// TestMomentIsKept: from a page as of a moment the ways to batches, jobs, files and the overview lead
// to that moment, and all others to what is now, as all ways from a page of now do.
func TestMomentIsKept(t *testing.T) {
	t.Parallel()
	h := opened(t, &told{answers: some("a name")}, access.Admin)
	file := "files/" + strings.Repeat("ab", 32)
	for page, wants := range map[string][]string{
		"": {""}, "batches/bid0000000001": {"", "jobs/jid0000000001"}, "jobs/jid0000000001": {"", "batches/bid0000000001", file}, file: {"", "batches/bid0000000001", "jobs/jid0000000001"},
	} {
		for _, at := range []string{"", "7", "2026-11-28"} {
			moment := ""
			if at != "" {
				moment = "7" // as the answers have it
			}
			var kept []string
			text := visited(h, http.MethodGet, Path+page+"?at="+at, nil).Body.String()
			_, text, _ = strings.Cut(text, `<nav aria-label="Pages">`)
			for _, to := range linksOf(t, text) {
				u, err := url.Parse(to)
				if err != nil {
					t.Fatal(err)
				}
				thing, is := strings.CutPrefix(u.Path, Path)
				if !is || thing == page && page != "" || thing == page && len(u.Query()) > 1 {
					continue // it is another host's, or an order of the page itself
				}
				_, id, _ := strings.Cut(thing, "/")
				has := thing == "" || slices.Contains([]string{"batches/" + id, "jobs/" + id, "files/" + id}, thing) && id != "" && !strings.Contains(id, "/")
				if has && !slices.Contains(kept, thing) {
					kept = append(kept, thing)
				}
				if got := u.Query().Get("at"); has && got != moment || !has && got != "" {
					t.Errorf("%s as of %q leads to %s", page, at, to)
				}
			}
			for _, want := range wants {
				if !slices.Contains(kept, want) {
					t.Errorf("%s as of %q does not lead to %s, only to %v", page, at, want, kept)
				}
			}
		}
	}
}

// TestOrderOfAMoment: a table that shows the first of many as of a moment can be sorted too, up to as
// many as its operation lists at once; where there were more, the page says how many, and sorts none.
func TestOrderOfAMoment(t *testing.T) {
	t.Parallel()
	const path = "/v1/batches/bid0000000001"
	a := &told{answers: some("a name")}
	h := opened(t, a, access.Operator)
	shown := func(address string) string {
		t.Helper()
		w := visited(h, http.MethodGet, Path+address, nil)
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", address, w.Code, w.Body)
		}
		return w.Body.String()
	}
	var jobs []any
	for _, title := range []string{"middle", "last", "first"} {
		job := a.answers["/v1/jobs"].(map[string]any)["items"].([]any)[0].(map[string]any)
		jobs = append(jobs, merged(job, map[string]any{"erc_what": title + " of them"}))
	}
	batch := a.answers[path].(map[string]any)
	of := func(total int, truncated bool) {
		a.answers[path] = merged(batch, map[string]any{"jobs": jobs, "jobs_total": total, "truncated": truncated})
	}
	of(60, true)
	text := shown("batches/bid0000000001?at=7")
	for _, want := range []string{"?at=7&amp;sort.jobs=title", "?at=7&amp;csv=jobs", "These are the first of 60"} {
		if !strings.Contains(text, want) {
			t.Errorf("the jobs of a moment lack %s", want)
		}
	}
	of(60, false)
	a.asked = nil
	text = shown("batches/bid0000000001?at=7&sort.jobs=title")
	if !slices.Contains(a.asked, "GET "+path+"?at=7&limit=1000") {
		t.Errorf("ordered they are asked for by %v", a.asked)
	}
	first, middle, last := strings.Index(text, "first of them"), strings.Index(text, "middle of them"), strings.Index(text, "last of them")
	if first < 0 || last < first || middle < last || strings.Contains(text, "These are the first of") {
		t.Errorf("the jobs are in the order %d, %d, %d", first, last, middle)
	}
	of(1001, true)
	if text = shown("batches/bid0000000001?at=7"); strings.Contains(text, "sort.jobs") || strings.Contains(text, "csv=jobs") || !strings.Contains(text, "These are the first of 1,001") {
		t.Error("more jobs of a moment than are had at once have an order, or the page does not say how many they are")
	}
	const then = "These are the first 1 of 30 that it had then"
	if text = shown("jobs/jid0000000001?at=7"); strings.Contains(text, "sort.files") || !strings.Contains(text, then) || !strings.Contains(text, "Show the files that it has now") {
		t.Error("the first files of a job of a moment have an order, or the page does not say how many they were")
	}
	if text = shown("jobs/jid0000000001"); strings.Contains(text, then) || !strings.Contains(text, "These are the first 1 of 30.") || !strings.Contains(text, "Show all<") {
		t.Error("the page of a job does not say how many files it has")
	}
}
