package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/cmd/internal/console"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/text"
	"github.com/accession-ingest/accession/internal/testkit/browser"
)

// leftwards is a name in letters that are read from the right: it is no harm in itself, but it must not
// turn around what stands beside it.
const leftwards = "\u05d0\u05d1\u05d2 (1923) \u05d3"

// hostileNames are what is written through every door. What is written last stays where there is one of
// it: it is markup, after letters from the right.
var hostileNames = []struct{ is, name string }{{"turned", hostile[1]}, {"long", hostile[2]}, {"control", hostile[3]}, {"quote", hostile[4]}, {"leftwards", leftwards}, {"markup", hostile[0]}}

// TestConsoleOfHostileNames: names as outsiders may write them go through every door of a service that
// takes a name or a text, each of which takes it or refuses it and says why, and a page of each route of
// the console is opened, of those first that have such a name. On the pages no name becomes markup,
// nothing of them runs, none turns around what stands beside it, and no page is wider than a phone.
// Shows: P9
func TestConsoleOfHostileNames(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0", "transfer_interval=1h")
	c := &consoled{installation: in, browser: browser.Start(t)}
	olga := in.keyOf("olga", "admin", "--all")
	in.says(0, []string{"user", "grant", "olga", "operator", "--all"})
	in.withPassword("olga", password)
	d := in.doorOf(in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...))
	c.url = d.url
	c.depositsHostile()
	c.writesHostile(d, olga)
	c.shown()
	c.opensAll(c.signedIn("olga"))
}

// depositsHostile deposits files and objects with hostile names and titles, and one that is not there.
// What a manifest may not hold fails its row, with the reason; what is only long or markup is taken.
func (c *consoled) depositsHostile() {
	c.t.Helper()
	c.hostile = c.depositFor("test", "mallory", webServer(c.t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/gone"):
			http.NotFound(w, r)
			return
		case !strings.HasSuffix(r.URL.Path, ".checkm"):
			_, _ = fmt.Fprintln(w, "the content of", r.URL.Path)
			return
		}
		var rows []string
		for i, of := range hostileNames {
			name := strings.ReplaceAll(of.name, "|", "%7c")
			file := []rune(strings.ReplaceAll(name, "/", "-"))
			rows = append(rows, fmt.Sprintf("http://%s/%d | | | | | %s | | local-%d | %s | %s | 2026", r.Host, i, string(file[:min(len(file), 200)]), i, string(file[:min(len(file), 200)]), name))
		}
		rows = append(rows, fmt.Sprintf("http://%s/gone/%s | | | | | gone.txt | | local-gone | A creator | A title | 2026", r.Host, url.PathEscape(hostile[0])))
		_, _ = w.Write(checkm("mrt-single-file-batch-manifest", batchColumns, rows...))
	}))+"/rows.checkm", domain.TypeFileBatchManifest)
	c.rest(c.hostile)
	rows, err := c.db.Query(c.ctx(), `select coalesce(reason_message, '') from accession.job where batch_id = $1 order by id`, c.hostile)
	c.must(err)
	why, err := pgx.CollectRows(rows, pgx.RowTo[string])
	c.must(err)
	if len(why) != len(hostileNames)+1 {
		c.t.Fatalf("the manifest has made %d jobs: %q", len(why), why)
	}
	for i, want := range []string{"holds a bidirectional control, U+202E", "", "holds a control character", "", "", "", "404 Not Found"} {
		if refused := want != ""; refused != (why[i] != "") || !strings.Contains(why[i], want) {
			c.t.Errorf("row %d of the manifest: %q, want %q", i, why[i], want)
		}
	}
}

// writing is a request that writes a hostile name where a person or a program writes one.
type writing struct {
	what, path string
	body       any    // text, or else what becomes JSON
	field      string // that has it, which a refusal names
	takes      string // which names are taken: all others are refused
}

// writes are the requests that write one of the names. n is its number, which others have that it is
// about, object what is withdrawn, and tokens are the leases of a worker.
func (c *consoled) writes(n int, name, object string, tokens []string) []writing {
	type fields = map[string]any
	const lines, none = "quote leftwards markup", ""
	user, dataset := fmt.Sprint("h", n), fmt.Sprint("d", n)
	owner, err := json.Marshal(name)
	c.must(err)
	profile := strings.NewReplacer("owner: The tests", "owner: "+string(owner), "name: test\ncollection: test", fmt.Sprintf("name: p%d\ncollection: c%d", n, n)).Replace(profileOf("attempts: 1"))
	short := url.QueryEscape(strings.ReplaceAll(name, "/", "-"))
	return []writing{
		{"the worker", "/v1/compute/claims", fields{"worker": name}, "worker", none},
		{"a failure", "/v1/compute/claims/" + tokens[0] + "/fail", fields{"class": "content", "message": name, "never": true}, "message", lines},
		{"what a command wrote last", "/v1/compute/claims/" + tokens[1] + "/fail", fields{"class": "content", "message": "no header", "never": true, "last_lines": name}, "last_lines", "all"},
		{"the name of a user", "/v1/users/" + user + "/set", fields{"display_name": name}, "display_name", lines},
		{"the subject of a sign-in", "/v1/users/" + user + "/set", fields{"openid": fields{"issuer": "https://login.example.org", "subject": name}}, "openid.subject", lines},
		{"the label of a key", "/v1/keys", fields{"user": user, "label": name}, "label", lines},
		{"the reason of a dataset", "/v1/datasets/" + dataset + "/set", fields{"group_pattern": "(.+)-.*", "reason": name}, "reason", lines},
		{"the address of a directory", "/v1/discoveries/o" + fmt.Sprint(n) + "/add", fields{"url": "https://data.example.org/" + name + "/", "dataset": dataset, "reason": "because"}, "url", lines},
		{"the reason of a directory", "/v1/discoveries/q" + fmt.Sprint(n) + "/add", fields{"url": "https://data.example.org/" + url.PathEscape(name) + "/", "dataset": dataset, "reason": name}, "reason", lines},
		{"the group of a slot", "/v1/slots", fields{"dataset": dataset, "group": name, "from": "2126-11-27T18:00:00Z", "to": "2126-11-28T09:00:00Z"}, "group", none},
		{"the group and the key of work", "/v1/compute/entries", fields{"dataset": dataset, "group": name, "key": name, "inputs": []string{"https://data.example.org/a.nc"}}, "group", lines},
		{"the reason of a processor", "/v1/deposit-queues/metadata/processors/p" + fmt.Sprint(n) + "/add", fields{"users": []string{user}, "stopped": true, "reason": name}, "reason", lines},
		{"what depositors are told", "/v1/intake/metadata/close", fields{"user": user, "message": name, "reason": "because"}, "message", lines},
		{"the owner of a profile", "/v1/profiles/p" + fmt.Sprint(n) + "/set", fields{"content": profile, "reason": name}, "", lines},
		{"the reason of a withdrawal", "/v1/objects/" + url.PathEscape(object) + "/withdraw", fields{"reason": name}, "reason", lines},
		{"the reason of commands to many", "/v1/bulk-actions", fields{"kind": "job", "verb": "hold", "filter": fields{"batch": c.hostile, "state": "failed"}, "reason": name}, "reason", lines},
		{"the reason of a pause", "/v1/queues/notify/pause", fields{"reason": name}, "reason", lines},
		{"the reason of a hold", "/v1/collections/test/hold", fields{"reason": name}, "reason", lines},
		{"the file of a deposit", "/v1/uploads?profile=test&name=" + short, "a letter\n", "name", lines},
		{"the title of a deposit", "/v1/uploads?profile=test&name=letter.txt&title=" + url.QueryEscape(name), "a letter\n", "title", lines},
		{"the list of a query", "/v1/queries?name=" + short, "local:none\n", "name", lines},
	}
}

// writesHostile writes each of the names through every door. A door that refuses one says why, in a
// text that shows what is wrong and is none of it.
func (c *consoled) writesHostile(d *door, key string) {
	c.t.Helper()
	rows, err := c.db.Query(c.ctx(), `select primary_identifier from record.object order by 1`)
	c.must(err)
	objects, err := pgx.CollectRows(rows, pgx.RowTo[string])
	c.must(err)
	send := func(path string, body any) answer {
		if text, is := body.(string); is {
			return d.send(key, http.MethodPost, path, strings.NewReader(text))
		}
		all, err := json.Marshal(body)
		c.must(err)
		return d.ask(key, http.MethodPost, path, string(all))
	}
	done := func(path string, body map[string]any, into any) { send(path, body).into(d, into) }
	for n, of := range hostileNames {
		user, dataset := fmt.Sprint("h", n), fmt.Sprint("d", n)
		done("/v1/users", map[string]any{"name": user}, new(any))
		done("/v1/datasets/"+dataset+"/add", map[string]any{"profile": "test", "reason": "because"}, new(any))
		var tokens []string
		for i := range 2 {
			d.requested(key, dataset, i)
			var w leases.Work
			done("/v1/compute/claims", map[string]any{"worker": "node7", "datasets": []string{dataset}, "wait": 60, "lease": 3600}, &w)
			tokens = append(tokens, w.Token)
		}
		for _, to := range c.writes(n, of.name, objects[n%len(objects)], tokens) {
			for _, end := range map[string]string{"/v1/queues/notify/pause": "/v1/queues/notify/resume", "/v1/collections/test/hold": "/v1/collections/test/release"} {
				if strings.Contains(end, strings.Split(to.path, "/")[2]) && n > 0 {
					send(end, map[string]any{"reason": "because"}) // what was refused before is not there
				}
			}
			a := send(to.path, to.body)
			taken := a.status < http.StatusMultipleChoices
			if should := to.takes == "all" || strings.Contains(to.takes, of.is); taken != should {
				c.t.Errorf("%s, %s, is taken: %t: %d %.300s", to.what, of.is, taken, a.status, a.body)
			}
			if !taken && (a.status != http.StatusBadRequest || !strings.Contains(a.Detail, to.field) || text.Line(a.Detail) != a.Detail || len(a.Detail) > 5000) {
				c.t.Errorf("%s, %s, is refused by %d %q", to.what, of.is, a.status, a.Detail)
			}
		}
	}
	last := fmt.Sprint("d", len(hostileNames)-1)
	done("/v1/slots", map[string]any{"dataset": last, "group": "20261127", "from": "2126-11-27T18:00:00Z", "to": "2126-11-28T09:00:00Z"}, new(any))
}

// harmless is an expression of what on a page is not: see opensAll.
const harmless = `(() => {
	const found = [], raw = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\u061c\ufeff]/;
	if (document.title === "taken") found.push("a script has set the title");
	for (const e of document.querySelectorAll("*")) {
		if (e.matches("img, iframe, object, embed, base, script:not([src]), body > style ~ style")) found.push("an element: " + e.outerHTML.slice(0, 120));
		for (const a of e.attributes) {
			if (a.name.startsWith("on") || a.name === "style" || /^\s*javascript:/i.test(a.value)) found.push("an attribute: " + e.outerHTML.slice(0, 120));
			if (raw.test(a.value)) found.push("no text in " + a.name + ": " + e.outerHTML.slice(0, 120));
		}
	}
	const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	let names = 0;
	for (let n = all.nextNode(); n; n = all.nextNode()) {
		if (raw.test(n.data)) found.push("no text: " + n.data.slice(0, 120));
		const of = n.parentElement, turns = /[\u0590-\u08ff]/.test(n.data);
		if (turns || n.data.includes("taken")) names++;
		if (!turns || of.closest("option, textarea, pre, svg")) continue;
		let unit = of;
		while (unit && !/isolate|plaintext/.test(getComputedStyle(unit).unicodeBidi)) unit = unit.parentElement;
		if (unit?.textContent.trim() !== n.data.trim()) found.push("it turns around what is beside it: " + unit?.outerHTML.slice(0, 300));
	}
	if (document.documentElement.scrollWidth > document.documentElement.clientWidth) found.push("it is wider than a phone: " + document.documentElement.scrollWidth);
	names += [...document.querySelectorAll("input")].filter((e) => /taken|[\u0590-\u08ff]/.test(e.value)).length;
	return {found: found.slice(0, 5), names};
})()`

// ways is an expression of the addresses of the console to which a page leads, those first that stand
// beside a hostile name.
const ways = `(() => {
	const beside = (a) => /taken|[\u0590-\u08ff]/.test((a.closest("tr, li, p") ?? a).textContent) ? 0 : 1;
	return [...document.links].filter((a) => a.origin === location.origin && a.pathname.startsWith("/console/")).sort((a, b) => beside(a) - beside(b)).map((a) => a.pathname + a.search);
})()`

// noPages are the routes that send no page.
var noPages = []string{"stream", "compute/{id}/outputs/{name}", "objects/{id}/versions/{n}/files/{name}", "objects/{id}/versions/{n}/manifest"}

// bearing are the routes that have a page here with a hostile name.
var bearing = strings.Fields("audit batches batches/{id} bulk bulk/{id} compute compute/{id} datasets datasets/{id} deposits deposits/{id} directories directories/{id} events failures files files/{id} jobs jobs/{id} keys " +
	"objects objects/{id} objects/{id}/versions/{n} people people/{id} people/{id}/do/{verb} profiles profiles/{id} profiles/{id}/do/{verb} queries/{id} queues reports/{name} withdrawals collections/{id}/do/{verb} queues/{id}/do/{verb} " +
	"batches/all jobs/all files/all compute/all deposits/all queries/all slots/all directories/all")

// bearers are the addresses of all that was made of the hostile rows, with each of the names, and of the
// work that has markup in its key.
func (c *consoled) bearers() (all []string) {
	c.t.Helper()
	rows, err := c.db.Query(c.ctx(), `
		select 'jobs', id, '' from accession.job where batch_id = $1 union all
		select 'files', raw_file_hash, '' from accession.file where batch_id = $1 union all
		select 'objects', o.primary_identifier, s.below from record.object o, (values (''), ('/versions/1')) s (below) union all
		select 'compute', id, '' from accession.compute_entry where key = $2`, c.hostile, hostile[0])
	c.must(err)
	kinds := map[string]bool{}
	var kind, id, below string
	_, err = pgx.ForEachRow(rows, []any{&kind, &id, &below}, func() error {
		kinds[kind], all = true, append(all, kind+"/"+url.PathEscape(id)+below)
		return nil
	})
	c.must(err)
	if len(kinds) != 4 {
		c.t.Fatalf("hostile names have made %v", all)
	}
	return all
}

// opensAll opens a page of every address that the console has, as pages lead to them, and looks at it as
// wide as a phone.
func (c *consoled) opensAll(p *browser.Tab) {
	c.t.Helper()
	mux, patterns := http.NewServeMux(), map[string]bool{}
	for _, r := range (&console.Console{}).Routes() {
		mux.Handle(r.Pattern, r.Handler)
		if path, is := strings.CutPrefix(r.Pattern, "GET "+console.Path); is && !r.Open && !strings.HasSuffix(path, ".csv") && !slices.Contains(noPages, path) {
			patterns[path] = true
		}
	}
	patternOf := func(at string) string {
		_, pattern := mux.Handler(httptest.NewRequest(http.MethodGet, at, http.NoBody))
		return strings.TrimPrefix(pattern, "GET "+console.Path)
	}
	name, path, last := url.QueryEscape(leftwards+hostile[0]), url.PathEscape(leftwards+hostile[0]), fmt.Sprint(len(hostileNames)-1)
	of := "batch=" + string(c.hostile)
	var bulk string
	c.must(c.db.QueryRow(c.ctx(), `select id from record.bulk_action order by number desc limit 1`).Scan(&bulk))
	first := []string{"", "?at=30", "bulk/" + bulk, "slots/d" + last + ":20261127", "profiles/p" + last, "batches/" + string(c.hostile), "batches/" + string(c.hostile) + "/callbacks?job=" + name, "batches/" + string(c.hostile) + "/retries", "batches/" + string(c.hostile) + "/retries?job=" + name, "jobs?" + of, "failures?" + of, "events?" + of, "reports/batch?" + of, "files?" + of, "batches?submitter=" + name, "objects?title=" + name, "people/h" + last, "people/h" + last + "/do/set", "profiles/p" + last + "/do/set",
		"datasets/d" + last, "directories/o" + last, "directories/o" + last + "/do/pause", "slots?dataset=d" + last, "nowhere/" + path, "queues/" + path + "/do/pause", "collections/" + path + "/do/hold", "bulk/" + path + "/do/cancel", "batches/all?verb=release&submitter=" + name, "jobs/all?verb=requeue&submitter=" + name, "files/all?verb=requeue&submitter=" + name, "compute/all?verb=retry&submitter=" + name,
		"deposits/all?verb=retry&submitter=" + name, "queries/all?verb=fail&submitter=" + name, "slots/all?verb=close&dataset=" + name, "directories/all?verb=pause&dataset=" + name}
	for _, path := range slices.Sorted(maps.Keys(patterns)) {
		if !strings.Contains(path, "{") {
			first = append(first, path)
		}
	}
	first = append(first, c.bearers()...)
	todo := []string{}
	for _, at := range first {
		todo = append(todo, console.Path+at)
	}
	opened, has := map[string]int{}, map[string]bool{}
	const most = 5
	enough := func(pattern string) bool { // of such as have names until one has
		return opened[pattern] > 0 && (has[pattern] || !slices.Contains(bearing, pattern)) || opened[pattern] >= most
	}
	for n := 0; n < len(todo); n++ {
		at := todo[n]
		pattern := patternOf(at)
		u, err := url.Parse(at)
		c.must(err)
		if given := n < len(first); !given && (!patterns[pattern] || enough(pattern) || u.Query().Has("csv") || u.Query().Has("cursor") || !slices.Contains([]string{"", "html"}, u.Query().Get("format"))) {
			continue
		}
		opened[pattern]++
		p.Open(c.url + at)
		is := browser.Eval[struct {
			Found []string
			Names int
		}](p, harmless)
		if is.Names > 0 {
			has[pattern] = true
		}
		if len(is.Found) > 0 {
			c.t.Errorf("%s has %q", at, is.Found)
		}
		for _, wrong := range p.Wrong() {
			if !strings.Contains(wrong, "the server responded with a status of 4") {
				c.t.Errorf("%s: %s", at, wrong)
			}
		}
		todo = append(todo, browser.Eval[[]string](p, ways)...)
	}
	c.t.Logf("pages of %d routes were opened, and such a name was on those of %v", len(opened), slices.Sorted(maps.Keys(has)))
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		if opened[pattern] == 0 {
			c.t.Errorf("no page of %s was opened", pattern)
		} else if slices.Contains(bearing, pattern) && !has[pattern] {
			c.t.Errorf("no page of %s has a hostile name", pattern)
		}
	}
}
