package e2e

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// owned are the things of one deposit, and what its depositor has made besides: an upload that
// waits, a query, a bulk action, and an API key. What is of no collection is there too: work that
// has ended with an output, the leases of other work and of a task, an event that cannot be read,
// and a processor.
type owned struct {
	batch, job, file, collection, profile, object, upload, query, bulk, key string
	entry, token, task, seq, processor                                      string
}

// of returns the one that an operation's path names.
func (o owned) of(path string) string {
	switch {
	case strings.Contains(path, "/objects/{"):
		return url.PathEscape(o.object)
	case strings.Contains(path, "/batches/{"):
		return o.batch
	case strings.Contains(path, "/jobs/{"):
		return o.job
	case strings.Contains(path, "/files/{"):
		return o.file
	case strings.Contains(path, "/collections/{"):
		return o.collection
	case strings.Contains(path, "/uploads/{"):
		return o.upload
	case strings.Contains(path, "/queries/{"):
		return o.query
	case strings.Contains(path, "/bulk-actions/{"):
		return o.bulk
	case strings.Contains(path, "/keys/{"):
		return o.key
	case strings.Contains(path, "/slots/{"):
		return o.profile + ":1"
	case strings.Contains(path, "/entries/{"):
		return o.entry
	case path == "/v1/profiles/{name}", strings.HasPrefix(path, "/v1/datasets/{"), strings.HasPrefix(path, "/v1/discoveries/{"):
		return o.profile
	}
	return ""
}

// lease returns the token that an operation's path names.
func (o owned) lease(path string) string {
	if strings.HasPrefix(path, "/v1/tasks/") {
		return o.task
	}
	return o.token
}

// firstOf returns what was made of a deposit, once the tables show it at rest.
func (in *installation) firstOf(id domain.BatchID, collection string) (o owned) {
	in.t.Helper()
	v := in.rest(id)
	o = owned{batch: string(id), collection: collection, profile: collection}
	in.must(in.db.QueryRow(in.ctx(), `select job_id, raw_file_hash from accession.file where batch_id = $1 order by seq limit 1`, v.BatchID).Scan(&o.job, &o.file))
	in.must(in.db.QueryRow(in.ctx(), `select primary_identifier from record.object_version where job_id = $1`, o.job).Scan(&o.object))
	return o
}

// makes has the depositor of a thing make the rest of it, with the rights that this takes.
func (o *owned) makes(d *door, user string) {
	d.in.t.Helper()
	made := func(rights, path, body string) string {
		var is struct{ ID string }
		d.ask(user+" "+rights, http.MethodPost, path, body).into(d, &is)
		return is.ID
	}
	o.upload = made("depositor/"+o.collection, "/v1/uploads?name=own.txt&profile="+o.profile, "a file")
	o.query = made("depositor/"+o.collection, "/v1/queries?name=list.txt", "bid0000000001\n")
	o.bulk = made("operator/"+o.collection, "/v1/bulk-actions", `{"kind":"job","verb":"requeue","filter":{"state":"failed"},"reason":"to try it"}`)
	o.key = strings.Split(d.in.keyOf(user+"."+o.collection, "reader", "--collection", o.collection), "_")[1]
	o.entry, o.token = d.leased(o.collection)
	const root = "root admin/*"
	d.ask(root, http.MethodPut, "/v1/compute/claims/"+o.token+"/outputs/a.txt", "a file", "Content-Type: application/octet-stream").is(d, http.StatusOK, "")
	d.ask(root, http.MethodPost, "/v1/compute/claims/"+o.token+"/complete", `{"result":1}`).is(d, http.StatusOK, "")
	_, o.token = d.leased(o.collection)
	o.seq = fmt.Sprint(d.in.publish("job.jid000000888"+fmt.Sprint(len(o.collection)), "half an event"))
	o.processor = "films-" + o.collection
	d.in.says(0, words("processor add metadata "+o.processor+" --users eve --reason x"))
}

// leased requests work and takes it.
func (d *door) leased(dataset string) (entry, token string) {
	d.in.t.Helper()
	const root = "root admin/*"
	d.ask(root, http.MethodPost, "/v1/compute/entries", `{"dataset":"of-`+dataset+`","inputs":["https://data.example.org/a.nc"],"key":"`+rand.Text()+`"}`).is(d, http.StatusOK, "")
	var w leases.Work
	d.ask(root, http.MethodPost, "/v1/compute/claims", `{"worker":"w","datasets":["of-`+dataset+`"],"wait":30,"lease":3600}`).into(d, &w)
	if w.Token == "" {
		d.in.t.Fatalf("no work of %s: %+v", dataset, w)
	}
	return w.Entry, w.Token
}

// tasks takes the work of a state of so many jobs, which their profile leaves to workers.
func (d *door) tasks(n int) (tokens []string) {
	in := d.in
	in.t.Helper()
	good := goodServer(in.t)
	for i := range n {
		in.depositFor("tasks", fmt.Sprintf("hand%d", i), fmt.Sprintf("%s/task-%d.txt", good, i), domain.TypeFile)
	}
	for range n {
		waitFor(in.t, "the work of a state", func() bool {
			var w leases.Work
			d.ask("root admin/*", http.MethodPost, "/v1/tasks/pending/claims", `{"worker":"w","wait":30,"lease":3600}`).into(d, &w)
			tokens = append(tokens, w.Token)
			if w.Token == "" {
				tokens = tokens[:len(tokens)-1]
			}
			return w.Token != ""
		})
	}
	return tokens
}

// ended makes another lease of a thing, once a request has ended the one that it had.
func (d *door) ended(op *operation.Operation, o *owned, tasks *[]string) {
	d.in.t.Helper()
	switch op.Name {
	case "compute.complete", "compute.fail":
		_, o.token = d.leased(o.collection)
	case "task.complete", "task.fail":
		if len(*tasks) == 0 {
			d.in.t.Fatal("no task is left")
		}
		o.task, *tasks = (*tasks)[0], (*tasks)[1:]
	}
}

// requests are what operations need besides their path.
var requests = map[string]struct{ query, body string }{
	"job.priority":       {"to=7", ""},
	"event.follow":       {"after=0&to=9", ""},
	"submission.create":  {"", `{"profile":"PROFILE","url":"http://127.0.0.1:1/nothing.txt","type":"file"}`},
	"upload.create":      {"profile=PROFILE&name=a.txt", "a file"},
	"upload.synchronous": {"profile=PROFILE&name=a.txt", "a file"},
	"user.add":           {"", `{"name":"dora"}`},
	"user.set":           {"", `{"display_name":"Dora"}`},
	"user.password":      {"", `{"password":"correct horse battery"}`},
	"user.grant":         {"", `{"role":"reader","all":true}`},
	"user.withdraw":      {"", `{"role":"reader","all":true}`},
	"key.add":            {"", `{"user":"dora"}`},
	"bulk.begin":         {"", `{"kind":"job","verb":"requeue","filter":{"state":"failed"}}`},
	"queue.prohibit":     {"", `{"users":["eve"],"reason":"to try it"}`},
	"queue.allow":        {"", `{"users":["eve"],"reason":"to try it"}`},
	"queue.defaults":     {"", `{"concurrency":9,"reason":"to try it"}`},
	"queue.limit":        {"", `{"user":"eve","allocation":0,"reason":"to try it"}`},
	"queue.unlimit":      {"", `{"user":"eve","reason":"to try it"}`},
	"queue.park":         {"", `{"users":["eve"],"reason":"to try it"}`},
	"queue.unpark":       {"", `{"users":["eve"],"reason":"to try it"}`},
	"processor.add":      {"", `{"users":["eve"],"reason":"to try it"}`},
	"processor.set":      {"", `{"stopped":true,"reason":"to try it"}`},
	"timeouts.set":       {"", `{"download_seconds":3600,"reason":"to try it"}`},
	"profile.set":        {"dry_run=true", `{"content":"name: ingest\ncollection: ingest\nowner: us\nidentifier: {naan: 99999, shoulder: fk4}","reason":"to try it"}`},
	"profile.rm":         {"dry_run=true", `{"reason":"to try it"}`},
	"profile.check":      {"", `{"content":"name: ingest\ncollection: ingest\nowner: us\nidentifier: {naan: 99999, shoulder: fk4}"}`},
	"query.submit":       {"name=list.txt", "bid0000000001\n"},
	"query.answer":       {"", "bid0000000001\n"},
	"intake.close":       {"dry_run=true", `{"message":"until 18:00","reason":"to try it"}`},
	"intake.open":        {"dry_run=true", `{"user":"eve","reason":"to try it"}`},
	"compute.submit":     {"", `{"dataset":"nights","inputs":["https://data.example.org/a.nc"]}`},
	"compute.claim":      {"", `{"worker":"w"}`},
	"compute.heartbeat":  {"", `{}`},
	"compute.complete":   {"", `{"result":1}`},
	"compute.put":        {"", "a file"},
	"compute.fail":       {"", `{"class":"content","message":"no header"}`},
	"task.claim":         {"", `{"worker":"w"}`},
	"task.heartbeat":     {"", `{}`},
	"task.complete":      {"", `{"result":{}}`},
	"task.put":           {"", "a file"},
	"task.fail":          {"", `{"class":"content","message":"no header"}`},
	"slot.add":           {"dry_run=true", `{"dataset":"PROFILE","group":"2","from":"2026-11-27T18:00:00Z","to":"2026-11-28T09:00:00Z"}`},
	"slot.open":          {"dry_run=true", `{"reason":"to try it"}`},
	"discover.look":      {"profile=PROFILE&url=DIRECTORY", ""},
	"dataset.add":        {"", `{"profile":"PROFILE","reason":"to try it"}`},
	"dataset.set":        {"", `{"group_pattern":"^([0-9]+)","reason":"to try it"}`},
	"discover.add":       {"", `{"dataset":"PROFILE","url":"https://data.example.org/","reason":"to try it"}`},
}

// nameOf returns the queue or user that an operation's path names.
func nameOf(op *operation.Operation) string {
	switch {
	case strings.HasPrefix(op.Path, "/v1/deposit-queues/"), strings.HasPrefix(op.Path, "/v1/intake/"):
		return "metadata"
	case strings.HasPrefix(op.Path, "/v1/users/"):
		return "dora"
	}
	return "ingest"
}

// TestRightsOverHTTP is every route × every role in no, its own, another and all collections
// × what is of that collection, of another one, the caller's own, and not there.
func TestRightsOverHTTP(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "drop_dir="+t.TempDir(), "queue_synchronous=1000")
	in.profileOfRocks("")
	in.profileOfTasks("{state: pending}")
	stop := in.serveInProcess().stop
	d := in.door()
	good, listed := goodServer(t), url.QueryEscape(directoryServer(t))
	things := map[string]owned{
		"of test":  in.firstOf(in.depositFor("test", "ana", good+"/batch.checkm", domain.TypeBatchManifest), "test"),
		"of rocks": in.firstOf(in.depositFor("rocks", "bob", good+"/batch.checkm", domain.TypeBatchManifest), "rocks"),
		"nowhere": {"bid0000009999", "jid0000009999", strings.Repeat("ab", 32), "sand", "sand", "ark:/99999/sand",
			"019ab000-0000-7000-8000-000000000000", "qid0000009999", "019ab000-0000-7000-8000-000000000000", "abcdefgh",
			"eid0000009999", "eid0000009999.sand", "eid0000009999.sand", "4711", "sand"},
	}
	tasks := d.tasks(12)
	stop()
	in.serveInProcess(run.RoleRelay, run.RoleProjector) // what is accepted waits
	for _, name := range []string{"test", "rocks"} {
		in.says(0, []string{"dataset", "add", name, "--profile", name, "--reason", "to try it"}, name)
		in.says(0, []string{"discover", "add", "https://data.example.org/", "--dataset", name, "--reason", "to try it"}, name)
		in.says(0, []string{"slot", "add", name, "1", "--from", "2126-11-27T18:00Z", "--to", "2126-11-28T09:00Z"}, name)
	}
	in.must(in.app.CatchUp(in.ctx()))
	for name, user := range map[string]string{"of test": "ana", "of rocks": "bob"} {
		o := things[name]
		o.makes(d, user)
		o.task, tasks = tasks[0], tasks[1:]
		things[name] = o
	}
	in.must(in.app.CatchUp(in.ctx()))
	callers := []string{"cy", "ana operator/test", "ana depositor/rocks", "ana depositor/test", "bob reader/test depositor/rocks"}
	for _, role := range access.Roles {
		for _, scope := range []string{"test", "rocks", "*"} {
			if role != access.Admin || scope == "*" {
				callers = append(callers, fmt.Sprintf("cy %s/%s", role, scope))
			}
		}
	}
	tried := map[int]int{}
	for _, op := range operation.Table() {
		for _, caller := range callers {
			for name, thing := range things {
				path := strings.NewReplacer("{id}", thing.of(op.Path), "{prefix}", thing.key, "{token}", thing.lease(op.Path), "{state}", "pending", "{n}", "1", "{seq}", thing.seq, "{processor}", thing.processor, "outputs/{name}", "outputs/a.txt", "reports/{name}", "reports/failures", "/files/{name}", "/files/a.txt", "/stored/{name}", "/stored/accession-erc.txt", "{name}", orText(thing.of(op.Path), nameOf(op))).Replace(op.Path)
				more, ok := requests[op.Name]
				if !ok && op.Write && op.On != operation.OnSelf {
					more.body = `{"reason":"to try it"}`
				}
				query := strings.NewReplacer("PROFILE", thing.profile, "DIRECTORY", listed).Replace(more.query)
				if op.Write && op.Need == access.Act && op.Name != "poison.retry" && !strings.Contains(op.Path, "/claims") { // there is none to retry, and no trial
					query += "&dry_run=true"
				}
				a := d.ask(caller, op.Method, path+"?"+strings.TrimPrefix(query, "&"), strings.ReplaceAll(more.body, "PROFILE", thing.profile))
				if a.status == http.StatusOK {
					d.ended(op, &thing, &tasks)
					things[name] = thing
				}
				want := mayAnswer(op, caller, name, thing)
				if !slices.Contains(want, a.status) {
					t.Errorf("%s by %q of what is %s: %d, want one of %v: %s", op.Name, caller, name, a.status, want, a.body)
				}
				tried[a.status]++
			}
		}
	}
	for _, status := range []int{200, 202, 403, 404, 409} {
		if tried[status] < 10 {
			t.Errorf("only %d answers have the status %d: %v", tried[status], status, tried)
		}
	}
	d.ask("hal reader/test", http.MethodPost, "/v1/jobs/"+things["of test"].job+"/hold", `{"reason":"to try it"}`).is(d, 403, "forbidden") // cy is refused too often
	if d.noted("job.hold refused forbidden") == 0 || d.noted("job.ls done") != 0 || d.noted("upload.create done") == 0 {
		t.Errorf("%+v", d.notes)
	}
	d.outdated(things["of test"])
	d.lists(things["of test"], things["of rocks"])
	d.reports(things["of test"].batch)
	if text := d.log.String(); strings.Contains(text, "level=ERROR") {
		t.Error(text)
	}
}

// mayAnswer returns the statuses that a request may be answered with. It is written from what
// the roles are for, and shares nothing with the program.
func mayAnswer(op *operation.Operation, caller, name string, thing owned) []int {
	user := strings.Fields(caller)[0]
	in := func(role string) bool {
		return strings.Contains(caller, role+"/"+thing.collection) || strings.Contains(caller, role+"/*")
	}
	all := func(role string) bool { return strings.Contains(caller, role+"/*") }
	admin := all("admin")
	sees := in("reader") || in("operator") || admin
	acts := in("operator") || admin
	theirs := name == "of test" && user == "ana" || name == "of rocks" && user == "bob"
	if theirs && strings.Contains(caller, "depositor/") {
		sees = true
	}
	ok := []int{http.StatusOK}
	changed := []int{http.StatusOK, http.StatusConflict, http.StatusBadRequest}
	switch op.On {
	case operation.OnSelf:
		switch op.Name {
		case "upload.show", "query.show", "query.report":
			if name == "nowhere" || !theirs && !all("reader") && !all("operator") && !admin {
				return []int{http.StatusNotFound}
			}
			if op.Name == "query.report" { // no processor runs
				return []int{http.StatusConflict}
			}
		case "session.begin": // a key begins none
			return []int{http.StatusConflict}
		}
		return ok
	case operation.OnSeen:
		return ok
	case operation.OnObject:
		switch {
		case name == "nowhere" || !sees:
			return []int{http.StatusNotFound}
		case op.Need == access.Act && !acts:
			return []int{http.StatusForbidden}
		case op.Name == "object.approve" || op.Name == "object.reject": // none is requested
			return []int{http.StatusConflict}
		}
		return ok
	case operation.OnSome:
		switch {
		case !strings.Contains(caller, "operator/") && !admin:
			return []int{http.StatusForbidden}
		case strings.Contains(op.Path, "{id}") && (name == "nowhere" || !theirs && !all("operator") && !admin):
			return []int{http.StatusNotFound}
		}
		return ok
	case operation.OnInstallation, operation.OnNamed: // nothing is named
		switch {
		case op.Name == "key.revoke" && admin && name != "nowhere":
			return ok
		case op.Name == "key.revoke" && admin:
			return []int{http.StatusNotFound}
		case op.Need == access.Administer && admin:
			return []int{http.StatusOK, http.StatusNotFound, http.StatusConflict} // the user is there, or is not
		case op.Need == access.See && !all("reader") && !all("operator") && !admin, op.Need == access.Act && !all("operator") && !admin, op.Need == access.Administer:
			return []int{http.StatusForbidden}
		case name == "nowhere" && (strings.Contains(op.Path, "{id}") || strings.Contains(op.Path, "{seq}") || strings.Contains(op.Path, "{processor}") && op.Name != "processor.add"):
			return []int{http.StatusNotFound}
		case strings.Contains(op.Path, "{token}") && name == "nowhere": // such a lease has ended
			return []int{http.StatusConflict}
		case op.Name == "compute.input": // it has a URL of its own
			return []int{http.StatusNotFound}
		case op.Need == access.See, strings.Contains(op.Path, "{token}"):
			return ok
		}
		return changed[:2]
	case operation.OnCollection:
		may := acts
		if op.Need == access.See {
			may = sees && (!theirs || in("reader") || acts)
		}
		if op.Need == access.Deposit {
			may = in("depositor") || admin
		}
		switch {
		case !may:
			return []int{http.StatusForbidden}
		case name == "nowhere" && op.Need == access.Deposit && !admin && !all("depositor"):
			return []int{http.StatusForbidden}
		case name == "nowhere":
			return []int{http.StatusNotFound, http.StatusConflict}
		case op.Need == access.Deposit:
			return []int{http.StatusAccepted}
		}
		return changed[:2]
	}
	switch {
	case name == "nowhere" || !sees:
		return []int{http.StatusNotFound}
	case op.Need == access.See:
		return ok
	case !acts:
		return []int{http.StatusForbidden}
	}
	return changed[:2]
}

// unchangeable are the operations that take If-Match and are refused here whatever the version
// is: what they are about is not there, is of a job, or has no report yet.
var unchangeable = map[string]int{"file.redownload": 409, "file.reprocess": 409, "file.abandon": 409, "query.send-report": 409}

// outdated sends every command that takes If-Match a version that never was.
func (d *door) outdated(thing owned) {
	d.in.t.Helper()
	n := 0
	for _, op := range operation.Table() {
		if _, takes := op.Input.FieldByName("IfMatch"); !takes {
			continue
		}
		processor := thing.processor
		if op.Name == "processor.add" { // one that is there is refused whatever the version is
			processor = "films"
		}
		path := strings.NewReplacer("{id}", thing.of(op.Path), "{prefix}", thing.key, "{processor}", processor, "{name}", orText(thing.of(op.Path), nameOf(op))).Replace(op.Path)
		more, ok := requests[op.Name]
		if !ok {
			more.body = `{"reason":"to try it"}`
		}
		a := d.ask("oz admin/*", op.Method, path+"?"+more.query, strings.ReplaceAll(more.body, "PROFILE", thing.profile), `If-Match: "999999"`)
		want, refused := unchangeable[op.Name]
		if refused && a.status != want || !refused && (a.status != http.StatusPreconditionFailed || a.Code != string(app.Outdated)) {
			d.in.t.Errorf("%s of another version: %d %s", op.Name, a.status, a.body)
		}
		n++
	}
	if n < 50 {
		d.in.t.Errorf("only %d operations take If-Match", n)
	}
}

// reports asks for reports about a batch of ana in the collection test, and about datasets: they
// need no right in other collections.
func (d *door) reports(batch string) {
	d.in.t.Helper()
	for query, want := range map[string]map[string]int{
		"failures?batch=" + batch:                                                 {"cy reader/test": 200, "ana depositor/test": 200, "cy reader/rocks": 404, "cy depositor/*": 404},
		"failures?format=mail&batch=" + batch:                                     {"cy admin/*": 200, "cy operator/*": 403, "cy reader/test": 403, "ana depositor/test": 403},
		"failures?format=mail&from=a@example.org&to=b@example.org&batch=" + batch: {"cy reader/test": 200},
		"reconciliation?dataset=test":                                             {"cy reader/test": 200, "cy operator/*": 200, "cy reader/rocks": 403, "ana depositor/test": 403},
		"reconciliation?dataset=sand":                                             {"cy reader/test": 403, "cy reader/*": 404},
		"reconciliation?batch=" + batch:                                           {"cy reader/test": 200, "cy reader/rocks": 404},
		"reconciliation?dataset=rocks&batch=" + batch:                             {"cy reader/test": 403, "cy reader/*": 400},
	} {
		for caller, status := range want {
			if a := d.ask(caller, http.MethodGet, "/v1/reports/"+query, ""); a.status != status {
				d.in.t.Errorf("report %s of %q: %d %s, want %d", query, caller, a.status, a.body, status)
			}
		}
	}
}

// listed are those of whose deposits callers are shown what no deposit makes.
var listed = map[string]map[string]string{
	"queries":      {"cy": "", "ana operator/test": "test", "bob depositor/test": "rocks", "cy depositor/*": "", "cy reader/*": "test rocks", "cy operator/*": "test rocks", "cy admin/*": "test rocks"},
	"uploads":      {"cy": "", "cy reader/test": "", "ana depositor/rocks": "test", "bob reader/test": "rocks", "cy depositor/*": "", "cy reader/*": "test rocks", "cy admin/*": "test rocks"},
	"bulk-actions": {"cy": "", "ana reader/*": "", "ana operator/test": "test", "bob operator/test": "rocks", "cy operator/test": "", "cy operator/*": "test rocks", "cy admin/*": "test rocks"},
	"collections":  {"cy": "", "ana reader/test": "test", "cy operator/rocks": "rocks", "cy reader/*": "test rocks", "cy admin/*": "test rocks"},
	"datasets":     {"cy": "", "cy reader/test": "test", "cy operator/rocks": "rocks", "cy depositor/*": "", "cy reader/*": "test rocks", "cy admin/*": "test rocks"},
	"discoveries":  {"cy": "", "cy reader/test": "test", "cy operator/rocks": "rocks", "cy depositor/*": "", "cy reader/*": "test rocks", "cy admin/*": "test rocks"},
	"slots":        {"cy": "", "cy reader/test": "test", "cy operator/rocks": "rocks", "cy depositor/*": "", "cy reader/*": "test rocks", "cy admin/*": "test rocks"},
	"profiles":     {"cy": "", "cy reader/test": "test", "cy depositor/rocks": "rocks", "cy depositor/*": "test rocks", "cy admin/*": "test rocks"},
}

// lists compares what lists show to callers.
func (d *door) lists(test, rocks owned) {
	d.in.t.Helper()
	for caller, want := range map[string]string{
		"cy":                              "",
		"cy reader/test":                  "test",
		"cy operator/rocks":               "rocks",
		"cy reader/*":                     "test rocks",
		"cy admin/*":                      "test rocks",
		"cy depositor/*":                  "",
		"ana depositor/rocks":             "test",
		"bob reader/test depositor/rocks": "test rocks",
	} {
		for _, noun := range []string{"batches", "jobs", "files", "objects"} {
			shown := idsIn(d.ask(caller, http.MethodGet, "/v1/"+noun, "").body)
			for collection, thing := range map[string]owned{"test": test, "rocks": rocks} {
				id := map[string]string{"batches": thing.batch, "jobs": thing.job, "files": thing.file, "objects": thing.object}[noun]
				if slices.Contains(shown, id) != strings.Contains(want, collection) {
					d.in.t.Errorf("%s shown to %q: %v, want those of %q", noun, caller, shown, want)
				}
			}
		}
	}
	for _, noun := range []string{"queries", "uploads", "bulk-actions", "collections", "profiles", "slots", "datasets", "discoveries"} {
		for caller, want := range listed[noun] {
			shown := idsIn(d.ask(caller, http.MethodGet, "/v1/"+noun, "").body)
			for collection, thing := range map[string]owned{"test": test, "rocks": rocks} {
				id := map[string]string{"queries": thing.query, "uploads": thing.upload, "bulk-actions": thing.bulk, "collections": collection, "profiles": collection, "datasets": collection, "discoveries": collection, "slots": collection + ":1"}[noun]
				if slices.Contains(shown, id) != strings.Contains(want, collection) {
					d.in.t.Errorf("%s shown to %q: %v, want those of %q", noun, caller, shown, want)
				}
			}
		}
	}
	for _, c := range []struct{ path, is string }{
		{"/v1/jobs?batch=" + rocks.batch, "there is no such batch"}, {"/v1/files?batch=" + rocks.batch, "there is no such batch"},
		{"/v1/files?job=" + rocks.job, "there is no such job"}, {"/v1/files?job=jid0000009999", "there is no such job"},
	} {
		if a := d.ask("cy reader/test", http.MethodGet, c.path, ""); a.status != http.StatusNotFound || !strings.Contains(a.Detail, c.is) {
			d.in.t.Errorf("%s: %d %s", c.path, a.status, a.body)
		}
	}
	was := d.noted("job.show refused not_found")
	if a := d.ask("dee reader/test", http.MethodGet, "/v1/jobs/"+rocks.job, ""); a.status != http.StatusNotFound || d.noted("job.show refused not_found") != was+1 {
		d.in.t.Errorf("what a caller may not see is %d, and audited %d times more", a.status, d.noted("job.show refused not_found")-was)
	}
}

func orText(text, or string) string {
	if text == "" {
		return or
	}
	return text
}
