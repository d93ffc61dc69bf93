package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/bulk"
	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/entry"
)

// requested requests an entry about a dataset.
func (d *door) requested(by, dataset string, n int) string {
	d.in.t.Helper()
	var e entries.Work
	d.ask(by, "POST", "/v1/compute/entries", fmt.Sprintf(`{"dataset":%q,"inputs":["https://data.example.org/%d.nc"]}`, dataset, n)).into(d, &e)
	return string(e.ID)
}

// failsOne takes an entry of a dataset as a worker, fails it for good, and returns it.
func (d *door) failsOne(by, dataset string) string {
	d.in.t.Helper()
	var w leases.Work
	d.ask(by, "POST", "/v1/compute/claims", fmt.Sprintf(`{"worker":"node7","datasets":[%q],"wait":60,"lease":3600}`, dataset)).into(d, &w)
	d.ask(by, "POST", "/v1/compute/claims/"+w.Token+"/fail", `{"class":"content","message":"no header","never":true}`).into(d, new(leases.Lease))
	return w.Entry
}

// asks asks about a list of one line.
func (d *door) asks(by string) string {
	d.in.t.Helper()
	var q queries.Query
	d.ask(by, "POST", "/v1/queries?name=list.txt", "local:none\n").into(d, &q)
	return string(q.ID)
}

// begins begins a bulk action on the command line, and does not wait for its end.
func (in *installation) begins(begin []string) (begun bulk.Action) {
	in.t.Helper()
	in.must(json.Unmarshal([]byte(in.says(0, append(slices.Clone(begin), "--yes", "--no-wait", "-o", "json"))), &begun))
	return begun
}

// ends waits for the end of a bulk action.
func (in *installation) ends(id string) (now bulk.Action) {
	in.t.Helper()
	waitFor(in.t, "the end of the bulk action "+id, func() bool {
		now = bulk.Action{}
		in.must(json.Unmarshal([]byte(in.says(0, []string{"bulk", "show", id, "-o", "json"})), &now))
		return now.EndedAt != nil
	})
	return now
}

// TestBulkActionsOfEntriesAndQueries: entries that failed for good are retried, and queries that
// wait are ended, by one bulk action each whose processes are killed, before and after the
// command is given. Each gets it once: also an entry that has failed again since. One that
// another command has changed meanwhile is refused.
// Shows: P1 P2
func TestBulkActionsOfEntriesAndQueries(t *testing.T) {
	t.Parallel()
	const things = 40 // of which 32 are taken at once
	in := newInstallation(t, append(slices.Clone(forProcesses), "zookeeper_session_timeout=4s", "stop_grace=100ms")...)
	in.says(0, words("queue suspend query --reason x"))
	d := in.door()
	const olga = "olga operator/*"
	for n := range things {
		d.requested(olga, "tides", n)
		d.asks(olga)
	}
	for range things {
		d.failsOne(olga, "tides")
	}
	tables := func() { // are brought up to date, and nothing else is done
		t.Helper()
		s := in.serve("--roles", "relay,projector")
		s.works()
		in.shown()
		s.stop()
	}
	tables()

	retry := []string{"bulk", "begin", "entry", "retry", "--dataset", "tides", "--state", string(entry.Failed), "--submitter", "olga", "--reason", "the header is there"}
	in.says(0, append(retry, "--dry-run"), fmt.Sprintf("the filter selects %d entries", things), "would go from FAILED to PENDING")
	begun := in.begins(retry)
	in.killedAt("app/bulk/one/before:3", "serve") // noted, none or some retried
	in.killedAt("app/bulk/one/after:5", "serve")  // five are retried at least
	again := d.failsOne(olga, "tides")
	byHand := ""
	rows, err := in.db.Query(in.ctx(), `select target from record.bulk_item where action_id = $1 and outcome = 'begun' order by target`, begun.ID)
	in.must(err)
	for byHand == "" && rows.Next() {
		var id string
		in.must(rows.Scan(&id))
		if id == again {
			continue
		}
		if code, _, _ := in.call("compute", "retry", id, "--reason", "by hand"); code == 0 {
			byHand = id
		}
	}
	rows.Close()
	if byHand == "" {
		t.Fatal("all entries that were noted are retried already")
	}
	tables()
	by := in.finishes(begun.ID, things-1, 1)
	in.says(0, words("bulk items "+begun.ID+" --outcome refused"), byHand, string(app.Outdated))
	in.given(by, domain.EventEntryReturned, things-1)
	for id, state := range map[string]entry.State{again: entry.Failed, byHand: entry.Pending} {
		if n := in.count(`select count(*) from accession.compute_entry where id = $1 and status = $2 and (reason_code = $3) = (status = 'PENDING')`, id, string(state), string(domain.CodeRetried)); n != 1 {
			t.Errorf("%s is not %s:\n%s", id, state, in.says(0, words("compute show "+id)))
		}
	}
	in.says(0, words("bulk begin entry retry --dataset tides --dry-run"), fmt.Sprintf("the filter selects %d entries", things), "would be refused: ")

	fail := []string{"bulk", "begin", "query", "fail", "--state", "received", "--submitter", "olga", "--since", "7d"}
	in.says(2, append(fail, "--yes"), "needs a reason")
	fail = append(fail, "--reason", "the list is wrong")
	in.says(0, append(fail, "--dry-run"), fmt.Sprintf("the filter selects %d queries", things), "would go from received to failed")
	begun = in.begins(fail)
	in.killedAt("app/bulk/one/before:3", "serve")
	in.killedAt("app/bulk/one/after:5", "serve")
	by = in.finishes(begun.ID, things, 0)
	in.given(by, domain.EventQueryFailed, things)
	in.says(0, words("queue board query"), "0 waiting, 0 running")
}

// finishes lets a process finish a bulk action, and returns the command of its events.
func (in *installation) finishes(id string, done, refused int64) (command string) {
	in.t.Helper()
	s := in.serve()
	s.works()
	now := in.ends(id)
	in.shown()
	s.stop()
	if now.State != bulk.Done || now.Done != done || now.Refused != refused {
		in.t.Errorf("%+v, want %d done and %d refused\n%s", now, done, refused, in.says(0, words("bulk items "+id+" --outcome refused")))
	}
	return "bulk-" + id
}

// given checks that a command was given to so many things, to each of them once.
func (in *installation) given(command string, event domain.EventType, things int) {
	in.t.Helper()
	events := in.count(`select count(*) from accession.event where type = $1 and command_id = $2`, string(event), command)
	of := in.count(`select count(distinct aggregate_id) from accession.event where type = $1 and command_id = $2`, string(event), command)
	if events != things || of != things {
		in.t.Errorf("%d events %s of %d things, want one of each of %d", events, event, of, things)
	}
}

// TestBulkActionsInAllCollections: a bulk action about entries or queries takes the right to act
// in all collections, when it is requested and when it is carried out, as the command about one
// does. Entries are selected by what their dataset belongs to. What cannot be changed is refused
// with the reason.
func TestBulkActionsInAllCollections(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	in.profileOfRocks("")
	in.says(0, words("queue suspend query --reason x"))
	in.says(0, words("dataset add nights --profile test --reason images"))
	in.says(0, words("dataset add stones --profile rocks --reason samples"))
	olga, oscar := in.keyOf("olga", "operator", "--all"), in.keyOf("oscar", "operator", "--collection", "test")
	s := in.serveInProcess(run.RoleHTTP, run.RoleRelay, run.RoleProjector) // no bulk action is carried out
	d := in.doorOf(s)
	failed, other := d.requested(olga, "nights", 1), d.requested(olga, "stones", 1)
	d.failsOne(olga, "nights")
	d.failsOne(olga, "stones")
	waits := d.requested(olga, "nights", 2)
	asked := d.asks(olga)
	in.shown()

	const retry, fail = `{"kind":"entry","verb":"retry","filter":{"collection":"test","profile":"test"}}`, `{"kind":"query","verb":"fail","filter":{"submitter":"olga"},"reason":"not any more"}`
	for _, body := range []string{retry, fail, `{"kind":"drop","verb":"rm","filter":{"collection":"test"}}`} {
		for _, query := range []string{"", "?dry_run=true"} {
			d.ask(oscar, "POST", "/v1/bulk-actions"+query, body).is(d, 403, app.Forbidden)
		}
	}
	for _, bad := range []string{
		`{"kind":"entry","verb":"retry","filter":{}}`, `{"kind":"entry","verb":"retry","filter":{"state":"failed"}}`, `{"kind":"entry","verb":"retry","filter":{"name":"a.nc"}}`,
		`{"kind":"entry","verb":"fail","filter":{"dataset":"nights"},"reason":"x"}`, `{"kind":"query","verb":"fail","filter":{"submitter":"olga"}}`,
		`{"kind":"query","verb":"fail","filter":{"host":"data.example.org"},"reason":"x"}`, `{"kind":"query","verb":"fail","filter":{"collection":"test"},"reason":"x"}`,
		`{"kind":"query","verb":"fail","filter":{"dataset":"nights"},"reason":"x"}`, `{"kind":"job","verb":"requeue","filter":{"dataset":"nights"}}`,
	} {
		if a := d.ask(olga, "POST", "/v1/bulk-actions?dry_run=true", bad); a.status != 400 {
			t.Errorf("%s: %d %s", bad, a.status, a.body)
		}
	}
	var would bulk.Action
	d.ask(olga, "POST", "/v1/bulk-actions?dry_run=true", retry).into(d, &would)
	if *would.Matched != 2 || len(would.First) != 2 || would.First[0].ID != waits || !strings.Contains(would.First[0].Refusal, string(entry.Pending)) || would.First[1].ID != failed || would.First[1].Change == nil {
		t.Errorf("%+v", would)
	}
	begin := func(body string) (begun bulk.Action) {
		t.Helper()
		d.ask(olga, "POST", "/v1/bulk-actions", body).into(d, &begun)
		return begun
	}
	one := begin(retry)
	s.stop()
	s = in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...)
	d = in.doorOf(s)
	if now := in.ends(one.ID); now.Done != 1 || now.Refused != 1 {
		t.Errorf("%+v", now)
	}
	var items app.Page[bulk.Item]
	d.ask(olga, "GET", "/v1/bulk-actions/"+one.ID+"/items?outcome=refused", "").into(d, &items)
	if len(items.Items) != 1 || items.Items[0].ID != waits || items.Items[0].Code != string(app.Refused) || !strings.Contains(items.Items[0].Message, string(entry.Pending)) {
		t.Errorf("%+v", items)
	}
	in.shown()
	if n := in.count(`select count(*) from accession.compute_entry where id = $1 and status = 'FAILED'`, other); n != 1 {
		t.Error("an entry of another collection is retried")
	}

	// The right in all collections is withdrawn while nothing carries them out.
	s.stop()
	s = in.serveInProcess(run.RoleHTTP, run.RoleRelay, run.RoleProjector)
	d = in.doorOf(s)
	two := begin(fail)
	in.says(0, words("user grant olga operator --collection test"))
	in.says(0, words("user withdraw olga operator --all"))
	s.stop()
	in.serveInProcess()
	if now := in.ends(two.ID); now.State != bulk.Cancelled || now.Done != 0 || !strings.Contains(now.CancelledBy, "may not act any more") {
		t.Errorf("%+v", now)
	}
	in.says(0, words("query show "+asked), "received")
}
