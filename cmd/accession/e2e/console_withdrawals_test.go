package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/browser"
)

// TestConsoleWithdrawsAnObject: an operator requests the withdrawal of an object on its page, cannot
// approve it, and another one rejects it, and approves it the second time, each for a reason; then
// the page of the object is its tombstone. A reader is shown no command, and one that is sent
// nevertheless changes nothing.
func TestConsoleWithdrawsAnObject(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	c := &consoled{installation: in, browser: browser.Start(t)}
	for user, right := range map[string]string{"olga": "operator", "otto": "operator", "rita": "reader"} {
		in.says(0, []string{"user", "add", user})
		in.says(0, []string{"user", "grant", user, right, "--all"})
		in.withPassword(user, password)
	}
	c.url = in.doorOf(in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...)).url
	batch := in.depositFor("test", "ana", goodServer(t)+"/batch.checkm", domain.TypeBatchManifest)
	object := in.rest(batch).Jobs[0].PrimaryIdentifier
	page := c.url + "/console/objects/" + url.PathEscape(object)
	const why, no, yes = "the letter of the donor", "the letter is not signed", "the letter is signed now"

	olga, otto, rita := c.signedIn("olga"), c.signedIn("otto"), c.signedIn("rita")
	does := func(p *browser.Tab, command, reason, says string) {
		t.Helper()
		p.Click(`a[href$="/do/` + command + `"]`)
		c.reads(p, "It would go")
		p.Fill("#reason", reason+"\r")
		c.reads(p, "Done.")
		c.reads(p, says)
	}
	rita.Open(page)
	if browser.Eval[bool](rita, `document.querySelector("a[href*='/do/']") !== null`) {
		t.Error("a reader is shown commands")
	}
	rita.Open(page + "/do/withdraw")
	browser.Eval[bool](rita, "window.before = true")
	rita.Fill("#reason", "I may not\r")
	waitFor(t, "the answer to the form", func() bool {
		return strings.Contains(rita.Text(), "you have no right to act") && browser.Eval[bool](rita, "window.before !== true")
	})
	if n := in.count("select count(*) from record.withdrawal"); n != 0 {
		t.Fatalf("a reader has requested %d withdrawals", n)
	}

	// Other windows show what becomes of it without being loaded again, although no event says so.
	list, thing := olga.Window(), rita.Window()
	shows := func(p *browser.Tab, what string) {
		t.Helper()
		c.reads(p, what)
		if !browser.Eval[bool](p, "window.kept === true") {
			t.Error("the page was loaded again")
		}
	}
	list.Open(c.url + "/console/withdrawals")
	thing.Open(page)
	for _, p := range []*browser.Tab{list, thing} {
		browser.Eval[bool](p, "window.kept = true")
	}

	olga.Open(page)
	does(olga, "withdraw", why, "another user approves or rejects it")
	shows(list, why)
	for _, width := range []int64{360, 1200} {
		olga.Look(width, width == 360)
		olga.Open(c.url + "/console/withdrawals?state=requested")
		c.reads(olga, why)
		c.looks(olga, fmt.Sprintf("withdrawals-%d", width))
	}
	olga.Click(`a[href$="/do/approve"]`)
	c.reads(olga, "you have requested it yourself")
	olga.Fill("#reason", "nevertheless\r")
	c.reads(olga, "you have requested it yourself")
	if n := in.count("select count(*) from record.withdrawal where state = 'requested' and requested_by = 'olga' and reason = $1", why); n != 1 {
		t.Errorf("%d are requested", n)
	}

	otto.Open(c.url + "/console/withdrawals")
	does(otto, "reject", no, "the request of olga is rejected")
	shows(list, no)
	olga.Open(page)
	does(olga, "withdraw", why, "another user approves or rejects it")
	otto.Open(c.url + "/console/withdrawals")
	if text := otto.Text(); !strings.Contains(text, no) || browser.Eval[int](otto, `document.querySelectorAll("a[href$='/do/approve']").length`) != 1 {
		t.Errorf("not just the second request can be approved: %s", text)
	}
	does(otto, "approve", yes, "nothing of it is served any more")
	waitFor(t, "the content to be removed", func() bool { return in.count("select count(*) from record.withdrawal where state = 'removed'") == 1 })
	shows(list, yes)
	shows(thing, "withdrawn")
	shows(thing, "Content removed")
	for _, p := range []*browser.Tab{olga, rita} {
		p.Open(page)
		c.looks(p, "tombstone")
		for _, want := range []string{"withdrawn", why, "olga", "otto", "Content removed"} {
			if text := p.Text(); !strings.Contains(text, want) {
				t.Errorf("the tombstone does not say %q: %s", want, text)
			}
		}
		if browser.Eval[bool](p, `document.querySelector("a[href*='/do/']") !== null`) {
			t.Error("a tombstone has commands")
		}
	}
	for _, p := range []*browser.Tab{olga, otto, rita, list, thing} {
		for _, wrong := range p.Wrong() {
			if !strings.Contains(wrong, "Failed to load resource: the server responded with a status of 4") {
				t.Error(wrong)
			}
		}
	}
}
