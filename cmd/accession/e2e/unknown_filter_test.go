package e2e

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// soon tries up to five times what is refused once the tables have caught up: while they are two
// seconds behind or more, a submitter counts as known.
func (in *installation) soon(refused func() bool) {
	in.t.Helper()
	for range 5 {
		in.must(in.app.CatchUp(in.ctx()))
		if refused() {
			return
		}
	}
}

// refuses compares what a command line that names what is not there says.
func (in *installation) refuses(line string, texts ...string) {
	in.t.Helper()
	var code int
	var out, errs string
	in.soon(func() bool {
		code, out, errs = in.call(words(line)...)
		return code != 0
	})
	if code != 4 || !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(errs, text) }) {
		in.t.Errorf("accession %s: exit code %d, want 4 and %q:\n%s%s", line, code, texts, out, errs)
	}
}

// TestUnknownInAFilter: every list that is limited to what is not there says so, with the name
// of the field, over HTTP and on the command line; one of what is there and has nothing is empty.
func TestUnknownInAFilter(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "drop_dir="+t.TempDir())
	in.profileOfRocks("")
	fresh := in.depositFor("test", "fresh", goodServer(t)+"/batch.checkm", domain.TypeBatchManifest)
	in.says(0, words("batch ls --submitter fresh")) // the tables do not show it yet
	in.serveInProcess()
	batch := in.depositFor("test", "ana", goodServer(t)+"/batch.checkm", domain.TypeBatchManifest)
	in.firstOf(batch, "test")
	in.rest(fresh)
	in.says(0, words("user add newcomer"))
	in.says(0, words("dataset add nights --profile test --reason images"))
	d := in.door()
	unknown := map[string]string{"batch": "bid0000009999", "job": "jid0000009999", "profile": "sand", "collection": "sand", "submitter": "eve", "dataset": "sand"}
	tried := 0
	for _, op := range operation.Table() {
		if !strings.HasSuffix(op.Name, ".ls") && op.Name != "job.failures" {
			continue
		}
		reader := "cy reader/*"
		if op.Need == access.Administer {
			reader = "cy admin/*"
		}
		for _, field := range parameters(op.Input) {
			value := unknown[field]
			if field == "user" {
				value = unknown["submitter"]
			}
			if value == "" {
				continue
			}
			tried++
			in.refuses(strings.ReplaceAll(op.Name, ".", " ")+" --"+field+" "+value, value)
			path := op.Path + "?" + url.Values{field: {value}}.Encode()
			var a answer
			in.soon(func() bool {
				a = d.ask(reader, "GET", path, "")
				return a.status != 200
			})
			a.is(d, 404, app.NotFound)
			if !strings.Contains(a.Detail, "there is no") || !strings.Contains(a.Detail, field) {
				t.Errorf("%s: %s", op.Path, a.Detail)
			}
		}
	}
	if tried < 40 {
		t.Errorf("only %d filters name something", tried)
	}
	// What is there, and has nothing of the kind.
	for _, line := range []string{"batch ls --profile rocks", "job ls --collection rocks", "file ls --submitter newcomer", "batch ls --submitter ana --state held", "query ls --submitter ana",
		"drop ls --submitter newcomer", "file ls --dataset nights", "slot ls --dataset nights", "discover ls --dataset nights", "compute ls --dataset nights", "compute ls --collection test --since 7d --host data.example.org --code no_such_code", "slot ls --profile test --older-than 1m", "poison ls --batch " + string(batch),
		"discover ls --state paused --host data.example.org", "query ls --code no_such_code", "object ls --collection rocks", "job ls --batch " + string(batch) + " --state failed"} {
		in.says(0, words(line))
	}
	// A caller learns nothing of what it may not see.
	for path, status := range map[string]int{"/v1/batches?collection=rocks": 404, "/v1/jobs?profile=rocks": 404, "/v1/batches?submitter=newcomer": 404, "/v1/files?collection=test&state=FAILED": 400,
		"/v1/batches?collection=test&state=held": 200, "/v1/batches?submitter=ana&state=held": 200, "/v1/batches?submitter=cy": 200, "/v1/events?after=0&to=1&collection=sand": 404} {
		var a answer
		in.soon(func() bool {
			a = d.ask("cy reader/test", "GET", path, "")
			return a.status == status || a.status != 200
		})
		if a.status != status {
			t.Errorf("%s: %d %s, want %d", path, a.status, a.body, status)
		}
	}
	if a := d.ask("cy depositor/rocks", "GET", "/v1/batches?collection=rocks", ""); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	// Nothing is selected by what is not there.
	for field, value := range unknown {
		what := `"kind":"job","verb":"requeue"`
		switch field {
		case "job":
			what = `"kind":"file","verb":"requeue"`
		case "dataset":
			what = `"kind":"entry","verb":"retry"`
		}
		var a answer
		in.soon(func() bool {
			a = d.ask("cy operator/*", "POST", "/v1/bulk-actions?dry_run=true", `{`+what+`,"filter":{"`+field+`":"`+value+`"},"reason":"x"}`)
			return a.status != 200
		})
		a.is(d, 404, app.NotFound)
	}
	for _, report := range []string{"failures", "retries", "files", "states"} {
		in.says(4, words("report "+report+" --batch bid0000009999"), "bid0000009999", "is not in the tables")
	}
	for _, command := range []string{"events ls", "events tail --from 1"} {
		for _, field := range []string{"collection", "profile", "submitter"} {
			in.refuses(command+" --"+field+" "+unknown[field], "there is no "+field)
		}
		in.says(0, words(command+" --collection test --batch "+string(batch)), string(domain.EventBatchSubmitted), string(domain.EventFileDiscovered))
	}
	for _, none := range []string{"--collection rocks", "--profile rocks", "--submitter newcomer", "--code no_such_code"} {
		in.says(0, words("events ls "+none), "no events")
	}
	in.says(0, words("events ls --submitter ana --profile test --batch "+string(batch)), string(domain.EventBatchSubmitted), string(domain.EventJobCompleted))
	in.says(0, words("dataset ls --collection test"), "nights")
	in.says(0, words("dataset ls --profile rocks"), "no datasets")
	in.says(0, words("profile ls --collection rocks -o json"), `"rocks"`)
}
