package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/internal/testkit/browser"
)

// TestConsoleAdministersPeople: an administrator adds a user on the pages, grants a right and sets a
// password, after a preview and for a reason each; the user signs in; a key is made, is good for the
// API, and is refused once it is revoked. Password and key are on no page, in no log and in no entry
// of the audit after that. Names are only text. Who is no administrator changes nothing.
func TestConsoleAdministersPeople(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	c := &consoled{installation: in, browser: browser.Start(t)}
	for user, right := range map[string]string{"ada": "admin", "olga": "operator", "rita": "reader"} {
		in.says(0, []string{"user", "add", user})
		in.says(0, []string{"user", "grant", user, right, "--all"})
		in.withPassword(user, password)
	}
	service := in.serveInProcess(run.RoleHTTP)
	d := in.doorOf(service)
	c.url = d.url
	const name = `<script>document.title="taken"</script>"><img src=x onerror="document.title='taken'">`
	ada := c.signedIn("ada")
	looked := 0
	looks := func(p *browser.Tab) {
		t.Helper()
		looked++
		c.looks(p, fmt.Sprintf("page %d", looked))
	}
	write := func(p *browser.Tab, fields map[string]string) {
		t.Helper()
		for field, value := range fields {
			p.Fill("#a-"+field, value)
		}
	}
	// done writes a reason under a preview, before which the rows that a count has stay so.
	done := func(p *browser.Tab, preview, reason, count string) {
		t.Helper()
		before := in.count(count)
		c.reads(p, preview)
		looks(p)
		if n := in.count(count); n != before {
			t.Fatalf("%s: %d before the preview, %d after it", count, before, n)
		}
		p.Fill("#reason", reason+"\r")
		c.reads(p, "Done.")
		looks(p)
		if n := in.count(count); n == before {
			t.Errorf("%s: %d before and after it was done", count, n)
		}
	}

	// Other windows show what is done without being loaded again, although no event says so.
	others := map[string]*browser.Tab{}
	follows := func(path string) {
		t.Helper()
		others[path] = ada.Window()
		others[path].Open(c.url + "/console/" + path)
		browser.Eval[bool](others[path], "window.kept = true")
	}
	shows := func(path, what string) {
		t.Helper()
		c.reads(others[path], what)
		if !browser.Eval[bool](others[path], "window.kept === true") {
			t.Errorf("%s was loaded again", path)
		}
	}
	follows("people")
	follows("keys")
	follows("audit")
	others["keys"].Click("#pause")

	ada.Open(c.url + "/console/people")
	ada.Click(`a[href="/console/new-user"]`)
	write(ada, map[string]string{"name": "Ben Li", "display_name": name})
	ada.Click(".act button")
	c.reads(ada, "cannot be the name of a user")
	ada.Wrong() // the browser says that the form was refused
	looks(ada)
	browser.Eval[bool](ada, `document.querySelector("#a-name").value = "ben"; true`)
	ada.Click(".act button")
	done(ada, "the user may do nothing before", "new at the desk", "select count(*) from record.user where name = 'ben' and display_name <> ''")
	shows("people", name)
	shows("audit", "new at the desk")
	follows("people/ben")
	ada.Click(`a[href="/console/people/ben"]`)
	waitFor(t, "the page of the user", func() bool { return ada.At() == "/console/people/ben" })
	ada.See("footer")
	c.reads(ada, name)
	looks(ada)

	ada.Click(`a[href$="/do/grant"]`)
	write(ada, map[string]string{"collections": "test"})
	browser.Eval[bool](ada, `document.querySelector("#a-role").value = "depositor"; true`)
	ada.Click(".act button")
	done(ada, "the user is depositor in test", "deposits scans", "select count(*) from record.right where user_name = 'ben'")

	shows("people", "depositor in test")
	shows("people/ben", "depositor")

	ada.Open(c.url + "/console/people/ben/do/password")
	write(ada, map[string]string{"password": password, "again": password})
	done(ada, "sessions of the user end", "the first one", "select count(*) from record.user_secret where user_name = 'ben'")
	ben := c.signedIn("ben")
	ben.See(`a[href="/console/new"]`)
	ben.Open(c.url + "/console/people")
	c.reads(ben, "no right to administer")

	ada.Open(c.url + "/console/people/ben/do/key")
	looks(ada)
	write(ada, map[string]string{"label": "scanner"})
	ada.Click(`input[name=roles][value=depositor]`)
	ada.Click(".act button")
	done(ada, "as depositor only", "for the scanner", "select count(*) from record.api_key where user_name = 'ben'")
	key := browser.Eval[string](ada, `document.querySelector("#secret").textContent`)
	shows("people/ben", "scanner")
	if text := others["keys"].Text(); strings.Contains(text, "scanner") {
		t.Errorf("a page that is paused shows the key: %s", text)
	}
	others["keys"].Click("#pause")
	shows("keys", "scanner")
	var who people.Self
	if d.ask(key, "GET", "/v1/self", "").into(d, &who); who.Name != "ben" || len(who.Rights) != 1 || who.Rights[0].Role != "depositor" {
		t.Errorf("%+v", who)
	}

	for user, says := range map[string]string{"olga": "no right to administer", "rita": "no right to administer"} {
		p := c.signedIn(user)
		for _, path := range []string{"/console/people", "/console/people/ben", "/console/people/ben/do/grant", "/console/keys", "/console/audit"} {
			p.Open(c.url + path)
			c.reads(p, says)
		}
		for path, form := range map[string]string{"/console/people/ben/do/grant": "role=admin&all=true", "/console/people/ben/do/disable": "", "/console/new-user": "name=eve", "/console/people/ben/do/key": "label=x", "/console/people/ben/do/password": "password=another+password&again=another+password", "/console/keys/" + keyPrefix(key) + "/do/revoke": ""} {
			for _, step := range []string{"", "&step=preview"} {
				got := browser.Eval[string](p, fmt.Sprintf(`fetch(%q, {method: "POST", body: new URLSearchParams(%q)}).then(async (r) => r.status + " " + await r.text())`, path, form+step+"&reason=none"))
				if step == "" && !strings.HasPrefix(got, "403 ") || !strings.Contains(got, says) || strings.Contains(got, "Done.") {
					t.Errorf("%s: %s %s: %.300s", user, path, form, got)
				}
			}
		}
	}
	if n := in.count(`select count(*) from record.user where name = 'eve' or name = 'ben' and disabled_at is not null`) + in.count(`select count(*) from record.right where user_name = 'ben' and role = 'admin'`) + in.count("select count(*) from record.api_key where revoked_at is not null or label = 'x'"); n != 0 {
		t.Errorf("%d changes by who may make none", n)
	}

	ada.Open(c.url + "/console/keys?user=ben")
	looks(ada)
	ada.Click(`a[href$="/do/revoke"]`)
	c.reads(ada, "are refused, from the next request on")
	d.ask(key, "GET", "/v1/self", "").is(d, http.StatusOK, "")
	done(ada, "programs with the key of ben", "was in a log", "select count(*) from record.api_key where revoked_at is not null")
	d.ask(key, "GET", "/v1/self", "").is(d, http.StatusUnauthorized, app.Unauthenticated)

	ada.Open(c.url + "/console/people/ben")
	ada.Click(`a[href*="/do/withdraw?"]`)
	ada.Click(".act button")
	done(ada, "no depositor in test any more", "moved to maps", "select count(*) from record.right where user_name = 'ben'")
	ada.Open(c.url + "/console/people/ben")
	ada.Click(`a[href$="/do/disable"]`)
	done(ada, "sessions of the user end", "has left", "select count(*) from record.session where user_name = 'ben'")
	shows("people/ben", "disabled")
	others["people/ben"].See(`a[href$="/do/enable"]`)
	ben.Open(c.url + "/console/")
	ben.See("#password")
	ada.Open(c.url + "/console/people/ben")
	ada.Click(`a[href$="/do/enable"]`)
	done(ada, "count again, as they were", "is back", "select count(*) from record.user where disabled_at is not null")

	ada.Open(c.url + "/console/people/ben")
	for _, path := range []string{"/console/people", "/console/people/ben", "/console/people/ben/do/password", "/console/people/ben/do/key", "/console/keys", "/console/audit", "/console/audit?on=user%2Fben", "/console/audit?user=ada", "/console/audit.csv", "/console/keys.csv", "/console/people.csv"} {
		text := browser.Eval[string](ada, fmt.Sprintf(`fetch(%q).then((r) => r.text())`, path))
		if strings.Contains(text, password) || strings.Contains(text, key) || !strings.HasSuffix(path, ".csv") && (strings.Contains(text, "<script>document") || strings.Contains(text, "<img")) {
			t.Errorf("%s: %s", path, text)
		}
		if path == "/console/audit?user=ada" {
			for _, want := range []string{"new at the desk", "deposits scans", "the first one", "for the scanner", "was in a log", "moved to maps", "has left", "is back"} {
				if !strings.Contains(text, want) {
					t.Errorf("the audit lacks %q: %s", want, text)
				}
			}
		}
	}
	for _, table := range []string{"audit_entry", "people_command", "api_key"} {
		if n := in.count(`select count(*) from record.`+table+` t where position($1 in t::text) > 0 or position($2 in t::text) > 0`, password, key); n != 0 {
			t.Errorf("%s has a secret", table)
		}
	}
	if log := service.log.String(); strings.Contains(log, password) || strings.Contains(log, key) || strings.Contains(log, strings.Split(key, "_")[2]) {
		t.Error("the log has a secret")
	}
	for path, p := range others {
		if wrong := p.Wrong(); len(wrong) > 0 {
			t.Errorf("%s: %v", path, wrong)
		}
	}
	// Who administers no more is told so by the page that was open; the others, which are read
	// again too, are refused from then on.
	in.says(0, []string{"user", "grant", "olga", "admin", "--all"})
	in.says(0, []string{"user", "withdraw", "ada", "admin", "--all"})
	c.reads(others["people"], "no right to administer")
	for _, wrong := range ada.Wrong() {
		if !strings.Contains(wrong, "Failed to load resource: the server responded with a status of 4") {
			t.Error(wrong)
		}
	}
}

// keyPrefix returns what a key shows of itself.
func keyPrefix(key string) string { return strings.Split(key, "_")[1] }
