package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/browser"
)

// TestConsoleHoldsACollection: an operator holds a collection, releases it and then what
// waited behind it, each for a reason; other windows, which are not loaded again, show the hold, the
// batch that waits, and that it goes on. A reader is shown no such command, and one that is sent nevertheless changes
// nothing. The file of events has what was done.
func TestConsoleHoldsACollection(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	c := &consoled{installation: in, browser: browser.Start(t)}
	for user, right := range map[string]string{"olga": "operator", "rita": "reader"} {
		in.says(0, []string{"user", "add", user})
		in.says(0, []string{"user", "grant", user, right, "--all"})
		in.withPassword(user, password)
	}
	c.url = in.doorOf(in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...)).url
	const held, released = "the shelf is being moved", "the shelf has moved"
	changed := func(user string) int {
		t.Helper()
		in.shown()
		return in.count(`select count(*) from accession.event where actor = $1`, "user/"+user)
	}

	p := c.signedIn("olga")
	reader := c.signedIn("rita")
	reader.Open(c.url + "/console/queues")
	batches := reader.Window()
	batches.Open(c.url + "/console/batches")
	for _, w := range []*browser.Tab{reader, batches} {
		browser.Eval[bool](w, "window.kept = true")
	}
	p.Open(c.url + "/console/queues")
	p.Click(`a[href$="collections/test/do/hold"]`)
	p.Fill("#reason", held+"\r")
	c.reads(p, "Done.")
	c.reads(reader, held)
	batch := in.depositFor("test", "ana", goodServer(t)+"/batch.checkm", domain.TypeBatchManifest)
	waitFor(t, "the batch that waits in the other window", func() bool {
		return regexp.MustCompile(string(batch) + `\s+held`).MatchString(batches.Text())
	})

	if browser.Eval[bool](reader, `document.querySelector("a[href*='/do/']") !== null`) {
		t.Error("a reader is shown commands")
	}
	other := reader.Window()
	for _, path := range []string{"/console/collections/test/do/release", "/console/batches/" + string(batch) + "/do/release"} {
		other.Open(c.url + path)
		browser.Eval[bool](other, "window.before = true")
		other.Fill("#reason", "I may not\r")
		waitFor(t, "the answer to the form", func() bool {
			return strings.Contains(other.Text(), "you have no right to act") && browser.Eval[bool](other, "window.before !== true")
		})
	}
	if n := changed("rita"); n != 0 || !strings.Contains(reader.Text(), held) {
		t.Errorf("a reader has changed %d things: %s", n, reader.Text())
	}

	p.Open(c.url + "/console/collections/test/do/release")
	c.reads(p, "It would go from")
	p.Fill("#reason", released+"\r")
	c.reads(p, "Done.")
	waitFor(t, "the end of the hold in the other window", func() bool { return !strings.Contains(reader.Text(), held) })
	c.reads(p, "1 batches and 0 jobs of it stay in held")
	if text := p.Text(); strings.Contains(text, "accession batch release") {
		t.Errorf("the page leads to the command line: %s", text)
	}
	c.looks(p, "released-1200")
	// What waited behind the hold is released by the way that the page has, and not what an operator
	// has held.
	p.Click(`a[href*="jobs/all"]`)
	c.reads(p, "0 jobs are chosen now")
	p.Open(c.url + "/console/queues")
	p.Click(`.actions a[href*="batches/all"]`)
	c.reads(p, "1 batches are chosen now")
	if text := p.Text(); !strings.Contains(text, string(domain.CodeCollectionHeld)) || !strings.Contains(text, string(batch)) {
		t.Errorf("it is not what waits behind the hold: %s", text)
	}
	p.Fill("#reason", released+"\r")
	waitFor(t, "the page of the bulk action", func() bool { return strings.HasPrefix(p.At(), "/console/bulk/") })
	waitFor(t, "the end of the batch in the other window", func() bool {
		return regexp.MustCompile(string(batch) + `\s+completed`).MatchString(batches.Text())
	})
	for _, w := range []*browser.Tab{reader, batches} {
		if !browser.Eval[bool](w, "window.kept === true") {
			t.Errorf("%s was loaded again", w.At())
		}
		if wrong := w.Wrong(); len(wrong) > 0 {
			t.Error(wrong)
		}
	}
	of := changed("olga")
	text := browser.Eval[string](p, `fetch("/console/events.csv?actor=user/olga").then((r) => r.text())`)
	if lines := strings.Count(text, "\n") - 1; lines != of || of < 3 || !strings.Contains(text, "setting changed") || !strings.Contains(text, released) {
		t.Errorf("%d events, want %d: %s", lines, of, text)
	}
	if n := in.count(`select count(*) from accession.event where type = 'setting.changed' and actor = 'user/olga' and strpos(data::text, $1) > 0`, held); n == 0 {
		t.Error("no event has why it was held")
	}
	// The list of events says why, in its last column.
	p.Open(c.url + "/console/events?kind=setting&actor=user/olga")
	c.reads(p, released)
	if whys := browser.Eval[[]string](p, `[...document.querySelectorAll("tbody td:last-child")].map((e) => e.innerText)`); len(whys) != 2 || !strings.HasPrefix(whys[0], released) || !strings.HasPrefix(whys[1], held) {
		t.Errorf("%q", whys)
	}
	if wrong := p.Wrong(); len(wrong) > 0 {
		t.Error(wrong)
	}
}
