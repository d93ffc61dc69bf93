package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/run"
)

// TestVersionsThatMayBeChanged: what is shown with a version has it as its ETag, and is changed
// by a command that names this version alone: a slot, a query, work, the timeouts, a deposit
// queue and a processor, a collection, a file in the drop folder, and a user. What is made says where it is shown.
// Shows: P2
func TestVersionsThatMayBeChanged(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "drop_dir="+t.TempDir())
	in.serveInProcess(run.RoleRelay, run.RoleProjector)
	in.says(0, words("dataset add nights --profile test --reason images"))
	in.says(0, words("slot add nights 1 --from 2126-11-27T18:00Z --to 2126-11-28T09:00Z"))
	in.says(0, words("timeouts set download=2h --reason slow"))
	in.says(0, words("queue defaults metadata --allocation 3 --reason many"))
	in.says(0, words("processor add metadata films --users ana --reason large"))
	d := in.door()
	const olga = "olga operator/*"
	made := func(path, body string) (at string) {
		t.Helper()
		a := d.ask(olga, http.MethodPost, path, body, "Prefer: wait=20")
		if at = a.header.Get("Location"); at == "" || a.header.Get("ETag") != `"1"` || a.header.Get("Preference-Applied") == "" {
			t.Fatalf("%s: %d %v %s", path, a.status, a.header, a.body)
		}
		return at
	}
	query := made("/v1/queries?name=list.txt", "bid0000000001\n")
	work := made("/v1/compute/entries", `{"dataset":"nights","inputs":["https://data.example.org/a.nc"]}`)
	upload := d.ask("ana depositor/*", http.MethodPost, "/v1/uploads?profile=test&name=a.txt", "a file").header.Get("Location")
	const oz = "oz admin/*"
	d.ask(oz, http.MethodPost, "/v1/users", `{"name":"dora"}`).into(d, new(any))
	in.says(0, words("collection hold test --reason first"))
	in.must(in.app.CatchUp(in.ctx()))
	for _, c := range []struct{ show, change, body string }{
		{"/v1/slots/nights:1", "/v1/slots/nights:1/open", `{"reason":"early"}`},
		{"/v1/slots/nights:1", "/v1/slots/nights:1/close", `{"reason":"clouds"}`},
		{query, query + "/fail", `{"reason":"withdrawn"}`},
		{"/v1/timeouts", "/v1/timeouts/set", `{"download_seconds":3600,"reason":"fast again"}`},
		{"/v1/deposit-queues/metadata", "/v1/deposit-queues/metadata/suspend", `{"reason":"repairs"}`},
		{"/v1/deposit-queues/metadata", "/v1/deposit-queues/metadata/defaults", `{"allocation":2,"reason":"fewer"}`},
		{"/v1/deposit-queues/metadata", "/v1/queues/metadata/resume", `{"reason":"repaired"}`},
		{"/v1/deposit-queues/metadata/processors/films", "/v1/deposit-queues/metadata/processors/films/set", `{"max_size":5,"reason":"small ones"}`},
		{"/v1/deposit-queues/metadata/processors/films", "/v1/deposit-queues/metadata/processors/films/stop", `{"reason":"repairs"}`},
		{"/v1/deposit-queues/metadata", "/v1/uploads/stop", `{"reason":"repairs"}`},
		{"/v1/collections/test", "/v1/collections/test/release", `{"reason":"repaired"}`},
		{"/v1/collections/test", "/v1/collections/test/hold", `{"reason":"repairs"}`},
		{upload + "?submitter=ana", upload + "/retry", `{"reason":"repaired"}`},
		{upload + "?submitter=ana", upload + "/retry", `{"reason":"repaired again"}`},
		{"/v1/users/dora", "/v1/users/dora/set", `{"mail":"dora@example.org"}`},
		{"/v1/users/dora", "/v1/users/dora/password", `{"password":"correct horse battery"}`},
		{"/v1/users/dora", "/v1/users/dora/grant", `{"role":"reader","all":true}`},
		{"/v1/users/dora", "/v1/users/dora/withdraw", `{"role":"reader","all":true}`},
		{"/v1/users/dora", "/v1/users/dora/disable", `{}`},
	} {
		by, prefer := olga, "Prefer: wait=20"
		people, folder := strings.Contains(c.show, "/users/"), strings.HasPrefix(c.show, upload)
		if people {
			by, prefer = oz, "Prefer: none"
		}
		etag := d.ask(by, http.MethodGet, c.show, "").into(d, new(any)).header.Get("ETag")
		var version int64
		if _, err := fmt.Sscanf(etag, `"%d"`, &version); err != nil {
			t.Errorf("%s has the ETag %q", c.show, etag)
			continue
		}
		for _, query := range []string{"", "?dry_run=true"}[:map[bool]int{true: 1, false: 2}[people]] {
			d.ask(by, http.MethodPost, c.change+query, c.body, fmt.Sprintf(`If-Match: "%d"`, version+1)).is(d, http.StatusPreconditionFailed, app.Outdated)
		}
		a := d.ask(by, http.MethodPost, c.change, c.body, "If-Match: "+etag, prefer).into(d, new(any))
		if want := fmt.Sprintf(`"%d"`, version+1); a.header.Get("ETag") != want || a.header.Get("Preference-Applied") == "" && !people && !folder {
			t.Errorf("%s: %v, want the ETag %s", c.change, a.header, want)
		}
		d.ask(by, http.MethodPost, c.change, c.body, "If-Match: "+etag).is(d, http.StatusPreconditionFailed, app.Outdated)
	}
	var key struct {
		ID      string `json:"id"`
		Version int64  `json:"version"`
	}
	if a := d.ask(oz, http.MethodPost, "/v1/keys", `{"user":"dora"}`).into(d, &key); a.header.Get("ETag") != `"1"` || key.Version != 1 {
		t.Errorf("a new key: %v %+v", a.header, key)
	}
	d.ask(oz, http.MethodPost, "/v1/keys/"+key.ID+"/revoke", "", `If-Match: "2"`).is(d, http.StatusPreconditionFailed, app.Outdated)
	d.ask(oz, http.MethodPost, "/v1/keys/"+key.ID+"/revoke", "", `If-Match: "1"`).into(d, new(any))
	d.ask(oz, http.MethodPost, "/v1/keys/"+key.ID+"/revoke", "", `If-Match: "1"`).is(d, http.StatusPreconditionFailed, app.Outdated)
	if etag := d.ask(olga, http.MethodGet, work, "").into(d, new(any)).header.Get("ETag"); etag != `"1"` {
		t.Errorf("%s has the ETag %s", work, etag)
	}
	// It has not failed: that it waits is said after its version.
	d.ask(olga, http.MethodPost, work+"/retry", "", `If-Match: "2"`).is(d, http.StatusPreconditionFailed, app.Outdated)
	d.ask(olga, http.MethodPost, work+"/retry", "", `If-Match: "1"`).is(d, http.StatusConflict, app.Refused)
}
