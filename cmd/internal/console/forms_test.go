package console

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/question"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// byPages are the operations that change something and are requested by pages of their own.
var byPages = []string{"bulk.begin", "session.begin", "session.end", "submission.create", "upload.create"}

// withoutForm are the operations that change something and have no form, and why.
var withoutForm = map[string]string{
	"compute.claim": "a worker takes work", "compute.complete": "a worker ends work", "compute.fail": "a worker ends work", "compute.heartbeat": "a worker has work", "compute.put": "a worker sends a file",
	"task.claim": "a service takes a task", "task.complete": "a service ends a task", "task.fail": "a service ends a task", "task.heartbeat": "a service has a task", "task.put": "a service sends a file",
	"upload.synchronous": "its caller waits for the outcome: a page of a deposit shows it as it comes",
	"profile.check":      "the preview of profile.set says the same",
	"query.answer":       "it changes nothing: it answers a list at once, and is posted because that is long",
	"query.submit":       "a list of identifiers is a file of a program; the answers are on the page of the query",
}

// TestEachOperationHasItsForm: what changes something over HTTP is begun in the console too, or it is
// written down why it is not.
func TestEachOperationHasItsForm(t *testing.T) {
	t.Parallel()
	begun := map[string]bool{}
	for _, name := range byPages {
		begun[name] = true
	}
	for kind, of := range question.Actions {
		for _, verb := range of.Verbs {
			begun[question.Of(kind, verb).Operation] = true
		}
	}
	begun[question.Of("people", "add").Operation] = true
	there := map[string]bool{}
	for _, op := range operation.Table() {
		there[op.Name] = true
		if op.Method == http.MethodGet {
			continue
		}
		if why := withoutForm[op.Name]; begun[op.Name] == (why != "") {
			t.Errorf("%s: begun in the console: %v, and why it is not: %q", op.Name, begun[op.Name], why)
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(begun)), slices.Collect(maps.Keys(withoutForm))) {
		if !there[name] {
			t.Errorf("there is no operation %s", name)
		}
	}
}

// TestActionsArePreviewed: the operation of each action can be tried before.
func TestActionsArePreviewed(t *testing.T) {
	t.Parallel()
	for kind, of := range question.Actions {
		for _, verb := range slices.Concat(of.Verbs, of.All) {
			op := operation.Named(question.Of(kind, verb).Operation)
			if !slices.ContainsFunc(reflect.VisibleFields(op.Input), func(f reflect.StructField) bool { return f.Tag.Get("query") == "dry_run" }) {
				t.Errorf("%s of %s: %s takes no dry_run", verb, kind, op.Name)
			}
		}
	}
}

// TestFormsOfInputs: an action asks for what the input of its operation has, is previewed, and sends
// what was written, with the reason where one is taken.
func TestFormsOfInputs(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]struct {
		path    string
		shows   string // the operation's answer before
		answer  string
		asks    string
		fields  url.Values
		request string
		body    string // without reason
		then    string
	}{
		"dataset": {path: "datasets/d1/do/set", shows: `{"profile":"maps","group_pattern":"^x","rules":{"min_files":2}}`, asks: `&#34;min_files&#34;: 2`, fields: url.Values{"profile": {"maps"}, "group_pattern": {""}, "rules": {`{"min_files":3}`}},
			request: "/v1/datasets/d1/set", body: `"group_pattern":"","profile":"maps","rules":{"min_files":3}`},
		"new dataset": {path: "new/dataset", asks: `name="name"`, fields: url.Values{"name": {" d2 "}, "profile": {"maps"}, "by_version": {"true"}}, request: "/v1/datasets/d2/add", body: `"by_version":true,"profile":"maps"`, answer: `{"id":"d2"}`, then: "/console/datasets/d2"},
		"new directory": {path: "new/directory", asks: `name="every_seconds"`, fields: url.Values{"name": {"n"}, "url": {"https://data.example.org/"}, "dataset": {"d1"}, "every_seconds": {"60"}, "newer_than": {"2026-11-01"}}, request: "/v1/discoveries/n/add",
			body: `"dataset":"d1","every_seconds":60,"newer_than":"2026-11-01T00:00:00Z","url":"https://data.example.org/"`, answer: `{"id":"n"}`, then: "/console/directories/n"},
		"new processor": {path: "new/processor", asks: `name="exclude_users"`, fields: url.Values{"name": {"metadata"}, "processor": {"films"}, "users": {"ana\r\nben"}}, request: "/v1/deposit-queues/metadata/processors/films/add", body: `"exclude_users":false,"preferred":[],"stopped":false,"users":["ana","ben"]`},
		"processor": {path: "processors/metadata-films/do/set", shows: `{"users":["ana"],"workers":2,"exclude_users":true}`, asks: `name="exclude_users" value="true" checked`, fields: url.Values{"users": {"ana"}, "workers": {"3"}},
			request: "/v1/deposit-queues/metadata/processors/films/set", body: `"exclude_users":false,"preferred":[],"stopped":false,"users":["ana"],"workers":3`},
		"stop":         {path: "processors/metadata-films/do/stop", shows: `{}`, request: "/v1/deposit-queues/metadata/processors/films/stop"},
		"limit":        {path: "deposit-queues/metadata/do/limit", asks: `name="concurrency"`, fields: url.Values{"user": {"ana"}, "concurrency": {"0"}, "allocation": {"-1"}}, request: "/v1/deposit-queues/metadata/limit", body: `"allocation":-1,"concurrency":0,"user":"ana"`},
		"park":         {path: "deposit-queues/metadata/do/park", asks: `name="received_after"`, fields: url.Values{"users": {"ana"}}, request: "/v1/deposit-queues/metadata/park", body: `"ids":[],"users":["ana"]`, answer: `{"looked_at":7,"done":3}`},
		"close intake": {path: "deposit-queues/metadata/do/close-intake", asks: `name="message"`, fields: url.Values{"message": {"until noon"}}, request: "/v1/intake/metadata/close", body: `"message":"until noon"`},
		"free":         {path: "batches/bid0000000001/do/free", shows: `{}`, request: "/v1/batches/bid0000000001/free"},
		"cancel":       {path: "bulk/b1/do/cancel", request: "/v1/bulk-actions/b1/cancel", answer: `{"status":"cancelled"}`},
		"stop drops":   {path: "new/transfer-stop", request: "/v1/uploads/stop"},
		"new slot": {path: "new/slot", asks: `name="from"`, fields: url.Values{"dataset": {"d1"}, "group": {"g"}, "from": {"2026-11-01"}, "to": {"2026-11-02 12:00"}}, request: "/v1/slots", body: `"dataset":"d1","from":"2026-11-01T00:00:00Z","group":"g","to":"2026-11-02T12:00:00Z"`,
			answer: `{"id":"d1:g"}`, then: "/console/slots/d1:g"},
		"new work": {path: "new/work", asks: `name="inputs"`, fields: url.Values{"dataset": {"d1"}, "inputs": {"https://data.example.org/1"}}, request: "/v1/compute/entries", body: `"dataset":"d1","inputs":["https://data.example.org/1"]`,
			answer: `{"id":"eid0000000001"}`, then: "/console/compute/eid0000000001"},
		"poison": {path: "new/poison-retry", asks: `name="aggregate"`, fields: url.Values{"aggregate": {"job/jid0000000001"}}, request: "/v1/poison/retry", body: `"aggregate":"job/jid0000000001"`, answer: `{"items":[{"aggregate":"job/jid0000000001","applied":4711,"waiting":0}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers := map[string]any{f.request: json.RawMessage(`{"id":"x","effects":["so it is"]}`)}
			if f.answer != "" {
				answers[f.request] = json.RawMessage(f.answer)
			}
			if f.shows != "" {
				at, _, _ := strings.Cut(f.request, f.path[strings.LastIndex(f.path, "/"):])
				answers[at] = json.RawMessage(f.shows)
			}
			c, address := newCommanded(t, answers), Path+f.path
			text := visited(c, http.MethodGet, address, nil).Body.String()
			if f.asks != "" {
				if !strings.Contains(text, f.asks) || len(c.sent) > 0 {
					t.Errorf("asked: %v %s", c.sent, text)
				}
				form := maps.Clone(f.fields)
				form.Set("step", "preview")
				text = visited(c, http.MethodPost, address, form).Body.String()
			}
			reasoned := name != "new slot" && name != "new work"
			body := func(reason string) string {
				var all map[string]any
				if err := json.Unmarshal([]byte("{"+f.body+"}"), &all); err != nil {
					t.Fatal(err)
				}
				if reasoned {
					all["reason"] = reason
				}
				sorted, err := json.Marshal(all)
				if err != nil {
					t.Fatal(err)
				}
				return string(sorted)
			}
			switch want := f.request + "?dry_run=true   " + body("preview"); {
			case !slices.Equal(c.sent, []string{want}):
				t.Fatalf("%q, want %s", c.sent, want)
			case strings.Contains(text, `name="reason"`) != reasoned:
				t.Errorf("the preview: %s", text)
			}
			form := maps.Clone(f.fields)
			if form == nil {
				form = url.Values{}
			}
			form.Set("key", valueOf(text, "key"))
			form.Set("match", `"3"`)
			if reasoned {
				form.Set("reason", " new here ")
			}
			w := visited(c, http.MethodPost, address, form)
			if want := f.request + "? " + form.Get("key") + ` "3" ` + body("new here"); c.sent[len(c.sent)-1] != want || len(form.Get("key")) < 20 {
				t.Errorf("%q, want %s", c.sent, want)
			}
			if text := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(text, "Done.") || !strings.Contains(text, f.then) {
				t.Errorf("%d %s", w.Code, text)
			}
		})
	}
}

// TestFormsSayWhatIsWrong: what cannot be read in a form is named beside what was written, and is not
// sent.
func TestFormsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	c := newCommanded(t, map[string]any{"/v1/datasets/d1": map[string]any{}})
	for path, f := range map[string]struct {
		fields url.Values
		want   string
	}{
		"new/directory":                    {url.Values{"name": {"n"}, "every_seconds": {"often"}, "url": {"https://data.example.org/kept"}}, "every seconds is no whole number"},
		"datasets/d1/do/set":               {url.Values{"rules": {"{"}, "profile": {"kept"}}, "rules is no JSON"},
		"new/slot":                         {url.Values{"from": {"noon"}, "dataset": {"kept"}}, "from is no time"},
		"new/profile":                      {url.Values{"content": {"kept: 1"}}, "name is empty"},
		"deposit-queues/metadata/do/limit": {url.Values{"concurrency": {"1.5"}, "user": {"kept"}}, "concurrency is no whole number"},
	} {
		f.fields.Set("step", "preview")
		w := visited(c, http.MethodPost, Path+path, f.fields)
		if text := w.Body.String(); w.Code != http.StatusBadRequest || !strings.Contains(text, f.want) || !strings.Contains(text, "kept") || len(c.sent) > 0 {
			t.Errorf("%s: %d %q %s", path, w.Code, c.sent, text)
		}
	}
}

// TestProfileForms: a profile is changed as it was when its form was asked for: it is sent with that
// version of the setting and of the content. If another administrator was faster nothing is changed,
// what was written stays, and the next preview is about what the profile says now.
func TestProfileForms(t *testing.T) {
	t.Parallel()
	shown := map[string]any{"id": "maps", "name": "maps", "collection": "maps", "owner": "Map library", "version": "v1", "source": "run time", "setting_version": 3}
	changed := map[string]any{"id": "maps", "from": "v1", "status": "v2", "effects": []string{`owner is "us", was "Map library"`}}
	c := newCommanded(t, map[string]any{"/v1/profiles/maps": shown, "/v1/profiles/maps/set": changed, "/v1/profiles/films/set": changed, "/v1/profiles/maps/rm": changed})
	if text := visited(c, http.MethodGet, Path+"profiles/maps", nil).Body.String(); !strings.Contains(text, "/profiles/maps/do/set") || !strings.Contains(text, "/profiles/maps/do/rm") {
		t.Errorf("the page of the profile: %s", text)
	}
	address := Path + "profiles/maps/do/set"
	text := visited(c, http.MethodGet, address, nil).Body.String()
	if valueOf(text, "from") != "v1" || !strings.Contains(text, "\nowner: Map library\n") || !strings.Contains(text, `name="match" value="&#34;3&#34;"`) || len(c.sent) > 0 {
		t.Fatalf("%q %s", c.sent, text)
	}
	content := "name: maps\r\nowner: us\r\n"
	form := url.Values{"content": {content}, "from": {"v1"}, "match": {`"2"`}, "step": {"preview"}}
	text = visited(c, http.MethodPost, address, form).Body.String()
	if want := `/v1/profiles/maps/set?dry_run=true  "2" {"content":"name: maps\nowner: us\n","from":"v1","reason":"preview"}`; !slices.Equal(c.sent, []string{want}) {
		t.Fatalf("%q, want %s", c.sent, want)
	}
	if !strings.Contains(text, "was &#34;Map library&#34;") || valueOf(text, "from") != "v1" || !strings.Contains(text, `name="match" value="&#34;2&#34;"`) {
		t.Errorf("the preview: %s", text)
	}

	outdated := problem.Of(app.Outdated, "the version of the profile maps is v7, not v1", "read it again")
	refusing := newCommanded(t, map[string]any{"/v1/profiles/maps": map[string]any{"id": "maps", "name": "maps", "version": "v7"}, "/v1/profiles/maps/set": outdated})
	for _, step := range []string{"preview", ""} {
		form.Set("step", step)
		form.Set("reason", "moved")
		w := visited(refusing, http.MethodPost, address, form)
		text = w.Body.String()
		if w.Code != http.StatusPreconditionFailed || !strings.Contains(text, "is v7, not v1") || !strings.Contains(text, "\nname: maps\r\nowner: us\r\n</textarea>") || valueOf(text, "from") != "v7" || !strings.Contains(text, `name="match" value="&#34;3&#34;"`) {
			t.Errorf("%q: %d %s", step, w.Code, text)
		}
	}

	c.sent = nil
	text = visited(c, http.MethodGet, Path+"new/profile", nil).Body.String()
	if valueOf(text, "from") != "none" || !strings.Contains(text, `name="content"`) {
		t.Errorf("a new profile: %s", text)
	}
	form = url.Values{"name": {"films"}, "content": {"name: films\n"}, "from": {"none"}, "step": {"preview"}}
	if visited(c, http.MethodPost, Path+"new/profile", form); !slices.Equal(c.sent, []string{`/v1/profiles/films/set?dry_run=true   {"content":"name: films\n","from":"none","reason":"preview"}`}) {
		t.Errorf("a new profile: %q", c.sent)
	}
	shown["owner"] = "\u202Eus"
	if w := visited(c, http.MethodGet, address, nil); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "accession profile set") {
		t.Errorf("a profile with characters that would be changed: %d %s", w.Code, w.Body)
	}
	shown["owner"] = "us"
	long := url.Values{"content": {strings.Repeat("# ü\n", 16<<10)}, "from": {"v1"}, "step": {"preview"}}
	if w := visited(c, http.MethodPost, address, long); w.Code != http.StatusOK {
		t.Errorf("a profile of 64 KiB: %d %.300s", w.Code, w.Body)
	}
	faults := problem.Of(app.Invalid, "line 2: field ownr not found in type profile; line 3: fetch.timeout is no time", "deploy/profiles/reference.yaml explains every field")
	faulty := newCommanded(t, map[string]any{"/v1/profiles/maps": shown, "/v1/profiles/maps/set": faults})
	form = url.Values{"content": {"name: maps\nownr: kept\n"}, "from": {"v1"}, "step": {"preview"}}
	if w := visited(faulty, http.MethodPost, address, form); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "line 3: fetch.timeout") || !strings.Contains(w.Body.String(), "ownr: kept") {
		t.Errorf("faults: %d %s", w.Code, w.Body)
	}
}
