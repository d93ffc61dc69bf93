package e2e

import (
	"bytes"
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
)

// parameters returns the names of the parameters of an input in its query.
func parameters(t reflect.Type) (names []string) {
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("query"), ","); name != "" {
			names = append(names, name)
		}
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			names = append(names, parameters(f.Type)...)
		}
	}
	return names
}

// TestObjectsAreFound: whatever an object is looked for by finds it and not the other, on the
// command line of the machine, on one that has only HTTP, and by a request.
func TestObjectsAreFound(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.profileOfRocks("")
	server := goodServer(t)
	stop := in.serveInProcess().stop
	deposit := func(of app.Deposit, collection string) owned {
		of.Profile, of.Type = collection, domain.TypeFile
		s, err := in.app.Submit(in.ctx(), of)
		in.must(err)
		return in.firstOf(s.Batch, collection)
	}
	north := deposit(app.Deposit{Payload: server + "/maps/north.tif", Submitter: "ana", LocalIDs: []string{"sheet-7"}, Title: "Harbour of the town, 1923", Creator: "Li, Ana"}, "test")
	south := deposit(app.Deposit{Payload: server + "/letters/south.txt", Submitter: "ben", LocalIDs: []string{"letter-3"}, Title: "Harbour of letters, 1924", Creator: "Bo, Ben"}, "rocks")
	stop()
	var between time.Time
	in.must(in.db.QueryRow(in.ctx(), "select max(recorded_at) from record.object_version").Scan(&between))
	of := map[string][2]string{ // the values of both
		"identifier": {north.object, south.object}, "local_id": {"sheet-7", "letter-3"}, "title": {"1923 harbour", "letters OF"}, "creator": {"ana LI", "bo"}, "file": {"north.tif", "south.txt"},
		"collection": {"test", "rocks"}, "submitter": {"ana", "ben"}, "batch": {north.batch, south.batch}, "profile": {"test", "rocks"},
		"since": {"", between.Format(time.RFC3339Nano)}, "older_than": {between.Format(time.RFC3339Nano), ""},
	}
	d := in.door()
	environ := []string{"HOME=" + t.TempDir(), "ACCESSION_API_KEY=cy reader/*"}
	found := func(out string) string {
		t.Helper()
		var page struct{ Items []struct{ ID string } }
		if err := json.Unmarshal([]byte(out), &page); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var ids []string
		for _, o := range page.Items {
			ids = append(ids, o.ID)
		}
		return strings.Join(ids, " ")
	}
	finds := func(want string, chosen map[string]string) {
		t.Helper()
		args, query := []string{"object", "ls", "-o", "json"}, url.Values{}
		for name, value := range chosen {
			args = append(args, "--"+strings.ReplaceAll(name, "_", "-"), value)
			query.Set(name, value)
		}
		code, here, errs := in.call(args...)
		if got := found(here); code != 0 || got != want {
			t.Errorf("accession %q finds %q, not %q: %d %s", args, got, want, code, errs)
		}
		var o, e bytes.Buffer
		code = cli.Main(in.ctx(), append([]string{"--server", d.url}, args...), cli.IO{Out: &o, Err: &e, Environ: environ})
		if got := found(o.String()); code != 0 || got != want {
			t.Errorf("accession --server URL %q finds %q, not %q: %d %s", args, got, want, code, e.String())
		}
		if got := found(d.ask("cy reader/*", "GET", "/v1/objects?"+query.Encode(), "").body); got != want {
			t.Errorf("GET /v1/objects?%s finds %q, not %q", query.Encode(), got, want)
		}
	}
	both := [2]map[string]string{{}, {}}
	for _, name := range parameters(operation.Named("object.ls").Input) {
		if name == "limit" || name == "cursor" {
			continue
		}
		values, known := of[name]
		if !known {
			t.Errorf("object.ls chooses by %s: say what it finds", name)
		}
		for i, value := range values {
			if value != "" {
				finds([2]string{north.object, south.object}[i], map[string]string{name: value})
				both[i][name] = value
			}
		}
	}
	finds(north.object, both[0])
	finds(south.object, both[1])
	both[0]["title"] = of["title"][1]
	finds("", both[0])
	for name, value := range map[string]string{"identifier": north.object + "0", "local_id": "sheet", "title": "harbour 1925", "creator": "an", "file": "orth.tif"} {
		finds("", map[string]string{name: value})
	}
}
