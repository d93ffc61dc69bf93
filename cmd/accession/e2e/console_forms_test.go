package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/internal/testkit/browser"
)

// formed is a page on which forms are filled in.
type formed struct {
	*consoled
	p *browser.Tab
}

// writes sets fields of the form, also those that have something, and sends it.
func (f formed) writes(fields map[string]string) {
	f.t.Helper()
	for name, value := range fields {
		f.p.See("#a-" + name)
		browser.Eval[bool](f.p, fmt.Sprintf(`document.querySelector("#a-%s").value = %s; true`, name, strconv.Quote(value)))
	}
	f.sends()
}

// sends sends the form.
func (f formed) sends() {
	f.t.Helper()
	browser.Eval[string](f.p, `document.body.id = "before"`)
	f.p.Click(".act button")
	f.p.See("body:not(#before) footer")
}

// carriesOut previews an action whose form is open or that asks for nothing, and carries it out.
func (f formed) carriesOut(preview string) {
	f.t.Helper()
	f.says(preview)
	f.looks(f.p, preview)
	if browser.Eval[bool](f.p, `document.querySelector("#reason") !== null`) {
		f.p.Fill("#reason", "to try it")
	}
	f.sends()
	f.says("Done.")
	f.looks(f.p, preview+", done")
}

// says waits for a text on the page that is none about a refusal.
func (f formed) says(text string) {
	f.t.Helper()
	waitFor(f.t, text+" on the page", func() bool {
		is := f.p.Text()
		if !strings.Contains(is, text) && browser.Eval[bool](f.p, `document.querySelector(".problem") !== null`) {
			f.t.Fatalf("%s is refused: %s", f.p.At(), is)
		}
		return strings.Contains(is, text)
	})
}

// refuses looks at a form that was refused: the browser says so too.
func (f formed) refuses(says string) {
	f.t.Helper()
	if is := f.p.Text(); !strings.Contains(is, says) {
		f.t.Fatalf("%s is not refused because of %s: %s", f.p.At(), says, is)
	}
	f.p.Wrong()
	f.looks(f.p, says)
}

// TestConsoleChangesProfiles: an administrator makes a profile on the pages, changes it and removes it,
// after a preview that names what would be otherwise, and for a reason. Of two who change it at once
// the second overwrites nothing: what was written stays, and is compared with what the first has set.
// A fault is named with its line.
func TestConsoleChangesProfiles(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	c := &consoled{installation: in, browser: browser.Start(t)}
	for _, user := range []string{"ada", "eva"} {
		in.says(0, []string{"user", "add", user})
		in.says(0, []string{"user", "grant", user, "admin", "--all"})
		in.withPassword(user, password)
	}
	c.url = in.doorOf(in.serveInProcess(run.RoleHTTP)).url
	ada, eva := formed{c, c.signedIn("ada")}, formed{c, c.signedIn("eva")}
	films := strings.NewReplacer(": test\n", ": films\n", "The tests", "Film library").Replace(profileOf("attempts: 2"))

	ada.p.Open(c.url + "/console/profiles")
	ada.p.Click(`a[href="/console/new/profile"]`)
	ada.writes(map[string]string{"name": "films", "content": strings.Replace(films, "owner:", "ownr:", 1)})
	ada.refuses("ownr")
	if text := browser.Eval[string](ada.p, `document.querySelector("#a-content").value`); !strings.Contains(text, "ownr: Film library") {
		t.Errorf("what was written is gone: %s", text)
	}
	ada.writes(map[string]string{"content": films})
	ada.carriesOut("the profile is new")
	ada.p.Open(c.url + "/console/new/profile")
	ada.writes(map[string]string{"name": "films", "content": strings.Replace(films, "Film library", "Others", 1)})
	ada.refuses("not none")

	const form = "/console/profiles/films/do/set"
	for _, f := range []formed{ada, eva} {
		f.p.Open(c.url + "/console/profiles/films")
		f.p.Click(`a[href="` + form + `"]`)
		f.p.See("#a-content")
	}
	shown := browser.Eval[string](ada.p, `document.querySelector("#a-content").value`)
	ada.writes(map[string]string{"content": strings.Replace(shown, "Film library", "Archive", 1)})
	ada.carriesOut(`owner is "Archive", was "Film library"`)
	mine := strings.Replace(shown, "Film library", "Museum", 1)
	eva.writes(map[string]string{"content": mine})
	eva.refuses("nothing was changed")
	if text := browser.Eval[string](eva.p, `document.querySelector("#a-content").value`); text != mine {
		t.Errorf("what was written is gone: %s", text)
	}
	eva.sends()
	eva.carriesOut(`owner is "Museum", was "Archive"`)
	in.says(0, words("profile show films"), "Museum")

	ada.p.Open(c.url + "/console/profiles/films/do/rm")
	ada.carriesOut("it is gone")
	in.says(4, words("profile show films"))
	if n := in.count("select count(*) from record.audit_entry where action = 'profile.set' and outcome = 'done' and reason = 'to try it'"); n != 3 {
		t.Errorf("the audit has %d changes, want 3", n)
	}
}

// TestConsoleChangesSettings: what operators set with the command line they set on the pages too: a
// dataset, its directory and its slot, limits, intake and processors of the deposit queues, timeouts,
// and work of the compute queue.
func TestConsoleChangesSettings(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	c := &consoled{installation: in, browser: browser.Start(t)}
	in.says(0, words("user add ada"))
	in.says(0, words("user grant ada admin --all"))
	in.withPassword("ada", password)
	c.url = in.doorOf(in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...)).url
	f := formed{c, c.signedIn("ada")}
	for _, s := range []struct {
		path    string
		fields  map[string]string
		preview string
		command string // which shows what is so then
		shows   string
	}{
		{"new/dataset", map[string]string{"name": "tides", "profile": "test"}, "It would", "dataset show tides", "test"},
		{"datasets/tides/do/set", map[string]string{"group_pattern": "^([0-9]{8})_"}, "It would", "dataset show tides", "[0-9]{8}"},
		{"new/directory", map[string]string{"name": "north", "url": "https://data.example.org/north/", "dataset": "tides", "every_seconds": "3600"}, "It would", "discover show north", "data.example.org"},
		{"directories/north/do/pause", nil, "It would", "discover show north", "paused"},
		{"directories/north/do/rm", nil, "It would", "discover ls", ""},
		{"new/slot", map[string]string{"dataset": "tides", "group": "20261101", "from": "2026-11-01", "to": "2030-11-02 12:00"}, "It would", "slot show tides 20261101", "2030-11-02"},
		{"deposit-queues/metadata/do/limit", map[string]string{"user": "ana", "concurrency": "7"}, "It would", "queue show metadata", "7"},
		{"deposit-queues/metadata/do/unlimit", map[string]string{"user": "ana"}, "It would", "", ""},
		{"deposit-queues/metadata/do/defaults", map[string]string{"concurrency": "9"}, "It would", "queue show metadata", "9"},
		{"deposit-queues/metadata/do/prohibit", map[string]string{"users": "mallory"}, "It would", "queue show metadata", "mallory"},
		{"deposit-queues/metadata/do/allow", map[string]string{"users": "mallory"}, "It would", "", ""},
		{"deposit-queues/metadata/do/suspend", nil, "It would", "queue show metadata", "suspended"},
		{"deposit-queues/metadata/do/resume", nil, "It would", "", ""},
		{"deposit-queues/metadata/do/park", map[string]string{"users": "ana"}, "Deposits that might be chosen", "", ""},
		{"deposit-queues/metadata/do/unpark", map[string]string{"users": "ana"}, "Deposits that might be chosen", "", ""},
		{"deposit-queues/metadata/do/close-intake", map[string]string{"message": "until noon"}, "It would", "intake show", "until noon"},
		{"deposit-queues/metadata/do/open-intake", nil, "It would", "", ""},
		{"new/processor", map[string]string{"name": "metadata", "processor": "films", "preferred": "ana"}, "It would", "processor show metadata films", "ana"},
		{"processors/metadata-films/do/set", map[string]string{"max_size": "4711"}, "It would", "processor show metadata films", "4711"},
		{"processors/metadata-films/do/stop", nil, "It would", "processor show metadata films", "stopped"},
		{"processors/metadata-films/do/start", nil, "It would", "", ""},
		{"processors/metadata-films/do/rm", nil, "It would", "processor ls", ""},
		{"new/timeouts", map[string]string{"download_seconds": "7201"}, "It would", "timeouts show", "2h0m1s"},
		{"new/transfer-stop", nil, "It would", "", ""},
		{"new/transfer-start", nil, "It would", "", ""},
		{"new/poison-retry", nil, "It would be done", "", ""},
		{"new/work", map[string]string{"dataset": "tides", "inputs": "https://data.example.org/1"}, "waits in the compute queue with the priority", "compute ls", "tides"},
	} {
		f.p.Open(c.url + "/console/" + s.path)
		if s.fields != nil || browser.Eval[bool](f.p, `document.querySelector(".act [name=step]") !== null`) {
			f.writes(s.fields)
		}
		f.carriesOut(s.preview)
		if s.command != "" {
			in.must(in.app.CatchUp(in.ctx()))
			in.says(0, words(s.command), s.shows)
		}
	}
}
