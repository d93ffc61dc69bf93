package e2e

import (
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	inventory "github.com/accession-ingest/accession/cmd/internal/app/objects"
	"github.com/accession-ingest/accession/cmd/internal/app/withdrawal"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
)

// TestWithdrawal: one user requests that an object is withdrawn, and only another one with the
// right may approve it. Then its content is answered with 410 and goes from the store and from
// the replica, in either layout; names, sizes, digests and the history stay, and verify and the
// auditor know that nothing is missing. A later version of it is refused. What a copy of the
// store brings back is removed again.
// Shows: P13
func TestWithdrawal(t *testing.T) {
	t.Parallel()
	for _, layout := range []string{"", "layout: ocfl\n"} {
		t.Run("layout"+strings.TrimSpace(layout), func(t *testing.T) {
			t.Parallel()
			withdraws(t, layout)
		})
	}
}

func withdraws(t *testing.T, layout string) {
	in := newInstallation(t)
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("tide " + r.URL.String() + "\n")) }))
	copies := filepath.Join(t.TempDir(), "copies")
	in.editProfile("fetch:", layout+"replicas: [file://"+copies+"]\nfetch:")
	in = in.with()
	deposit := func(localID, mode string) app.JobRow {
		t.Helper()
		batch := in.submit(app.Deposit{Payload: base + "/tide.txt?of=" + localID + "&n=" + mode, LocalIDs: []string{localID}, Title: "Tides", Mode: mode})
		run := in.serve()
		run.works()
		jobs := in.rest(batch).Jobs
		run.stop()
		in.shown()
		if len(jobs) != 1 {
			t.Fatalf("%+v", jobs)
		}
		return jobs[0]
	}
	// content counts the files in a store that hold what the depositor sent.
	content := func(root, of string) (n int) {
		t.Helper()
		in.must(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if strings.HasPrefix(string(data), "tide ") && strings.Contains(string(data), "of="+of+"&") {
				n++
			}
			return err
		}))
		return n
	}
	first := deposit("tides", "add")
	object, batch := first.PrimaryIdentifier, first.BatchID
	deposit("tides", "update")
	other := deposit("moons", "add").PrimaryIdentifier
	if a, b := content(in.cfg.Store, "tides"), content(copies, "tides"); a != 2 || b != 2 {
		t.Fatalf("%d and %d files", a, b)
	}

	d := in.door()
	at := func(id, what string) string { return "/v1/objects/" + url.PathEscape(id) + what }
	const why = `{"reason":"the donor wants it back"}`
	get := func() answer {
		t.Helper()
		return d.ask("cy reader/test", "GET", at(object, "/versions/1/files/tide.txt"), "")
	}
	d.ask("cy reader/test", "POST", at(object, "/withdraw"), why).is(d, http.StatusForbidden, app.Forbidden)
	d.ask("ana operator/rocks", "POST", at(object, "/withdraw"), why).is(d, http.StatusNotFound, app.NotFound)
	d.ask("ana operator/test", "POST", at(object, "/withdraw"), `{}`).is(d, http.StatusBadRequest, app.Invalid)
	d.ask("ana operator/test", "POST", at(object, "/approve"), `{}`).is(d, http.StatusConflict, app.Refused)
	if d.ask("ana operator/test", "POST", at(object, "/withdraw?dry_run=true"), why); in.count("select count(*) from record.withdrawal") != 0 {
		t.Error("a trial has requested it")
	}
	for range 2 { // the second is the same request
		if a := d.ask("ana operator/test", "POST", at(object, "/withdraw"), why); a.status != http.StatusOK || !strings.Contains(a.body, `"requested"`) {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	d.ask("bob operator/test", "POST", at(object, "/withdraw"), why).is(d, http.StatusConflict, app.Refused)

	// Who has requested it does not approve it, with whatever right and whatever key.
	for _, caller := range []string{"ana operator/test", "ana admin/*"} {
		if a := d.ask(caller, "POST", at(object, "/approve"), `{}`).is(d, http.StatusConflict, app.Refused); !strings.Contains(a.Detail, "requested it yourself") {
			t.Errorf("%s", a.body)
		}
	}
	d.ask("cy reader/test", "POST", at(object, "/approve"), `{}`).is(d, http.StatusForbidden, app.Forbidden)
	d.ask("bob operator/rocks", "POST", at(object, "/approve"), `{}`).is(d, http.StatusNotFound, app.NotFound)
	if a := d.ask("bob operator/test", "POST", at(object, "/approve?dry_run=true"), `{}`); a.status != http.StatusOK || get().status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := d.ask("bob operator/test", "POST", at(object, "/approve"), `{"reason":"checked"}`); a.status != http.StatusOK || !strings.Contains(a.body, `"approved"`) {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := get().is(d, http.StatusGone, app.Gone); !strings.Contains(a.Detail, "was withdrawn at 20") || !strings.Contains(a.Detail, "the donor wants it back") {
		t.Errorf("%s", a.body)
	}
	d.ask("cy reader/test", "GET", at(object, "/versions/2/files/mrt-erc.txt?kind=system"), "").is(d, http.StatusGone, app.Gone)
	d.ask("bob operator/test", "POST", at(object, "/reject"), `{}`).is(d, http.StatusConflict, app.Refused)
	if n := content(in.cfg.Store, "tides"); n != 2 { // no service runs
		t.Errorf("%d files", n)
	}
	digests := in.inventory()

	run := in.serve()
	run.works()
	waitFor(t, "the removal", func() bool { return in.count("select count(*) from record.withdrawal where state = 'removed'") == 1 })
	in.shown()
	run.stop()
	for _, root := range []string{in.cfg.Store, copies} {
		if a, b := content(root, "tides"), content(root, "moons"); a != 0 || b != 1 {
			t.Errorf("%s has %d files of the one object and %d of the other", root, a, b)
		}
	}
	if now := in.inventory(); now != digests {
		t.Errorf("the inventory was\n%s\nand is\n%s", digests, now)
	}
	var v inventory.View
	if d.ask("cy reader/test", "GET", at(object, ""), "").into(d, &v); v.Tombstone == nil || v.Tombstone.RequestedBy != "ana" || v.Tombstone.ApprovedBy != "bob" || v.Tombstone.RemovedAt == nil || len(v.Versions) != 2 {
		t.Errorf("%+v", v)
	}
	var files app.Page[inventory.File]
	if d.ask("cy reader/test", "GET", at(object, "/versions/1/files"), "").into(d, &files); len(files.Items) < 2 || files.Items[0].SHA256 == "" {
		t.Errorf("%+v", files)
	}
	in.says(0, []string{"object", "show", object}, "the donor wants it back", "approved by")
	in.says(0, words("object withdrawals"), object, "removed", "ana", "bob")
	in.says(4, []string{"object", "get", object, "tide.txt", "--out", filepath.Join(t.TempDir(), "tide.txt")}, "was withdrawn at")
	in.says(4, []string{"object", "export", object, "--dir", t.TempDir()}, "was withdrawn at")

	// The history says it, and so does a report that is made from it.
	in.seen(2, domain.EventFileAbandoned)
	if n := in.count("select count(*) from accession.file where status = 'ABANDONED' and reason_code = 'object_withdrawn'"); n != 2 {
		t.Errorf("%d files", n)
	}
	in.serveInProcess("relay", "projector")
	for _, report := range []string{"report reconciliation --batch " + batch, "report batch --batch " + batch} {
		in.says(0, words(report), "object_withdrawn")
	}
	in.says(0, words("verify --deep"), "no differences")

	// The auditor finds nothing, and neither mends nor copies.
	in.exec("insert into record.corrupt_file (primary_identifier, version, kind, name, key, job_id, code, found, state) values ($1, 1, 'producer', 'tide.txt', 'k', $2, 'stored_missing', 'nothing', 'found')", object, first.ID)
	in.exec(`insert into record.replica (primary_identifier, version, location, job_id, profile_name, manifest_key, manifest_sha256)
		select primary_identifier, version, $2, job_id, profile_name, manifest_key, manifest_sha256 from record.object_version where primary_identifier = $1`, object, "file://"+copies)
	a, err := in.wired.Auditor(in.ctx())
	in.must(err)
	a.Interval, a.Rate = time.Millisecond, 0
	audit := func() {
		t.Helper()
		waitFor(t, "a pass of the auditor", func() bool {
			done, err := a.Once(in.ctx())
			in.must(err)
			return done
		})
		in.must(a.Pending.Once(in.ctx()))
	}
	audit()
	in.seen(2, domain.EventFileAbandoned)
	if n := in.count("select count(*) from accession.event where type = 'file.requeued'") + content(copies, "tides") + in.count("select count(*) from record.replica where primary_identifier = $1", object); n != 0 {
		t.Errorf("%d files were taken back, mended or copied", n)
	}

	// What a copy of the store brings back goes again.
	for i, mend := range []func(){audit, func() { in.says(0, words("verify --repair --yes")) }} {
		for _, root := range []string{in.cfg.Store, copies} {
			var key string
			in.must(in.db.QueryRow(in.ctx(), "select key from record.object_file where primary_identifier = $1 and version = $2 and kind = 'producer'", object, i+1).Scan(&key))
			back := filepath.Join(root, filepath.FromSlash(key))
			in.must(os.MkdirAll(filepath.Dir(back), 0o700))
			in.must(os.WriteFile(back, []byte("tide of=tides&\n"), 0o600))
		}
		in.says(20, words("verify"), string(consistency.WithdrawnStored))
		mend()
		if n := content(in.cfg.Store, "tides") + content(copies, "tides"); n != 0 {
			t.Errorf("%d files are there again", n)
		}
		in.says(0, words("verify"), "no differences")
	}

	// No job stores another version, by its local id or its identifier.
	if job := deposit("tides", "update"); job.Status != string(domain.JobFailed) || job.ReasonCode == nil || *job.ReasonCode != string(record.CodeObjectWithdrawn) {
		t.Errorf("%+v", job)
	}

	// A request that is taken back, one that is rejected, and one that waits.
	for _, c := range []struct{ caller, want string }{{"ana operator/test", "taken_back"}, {"bob operator/test", "rejected"}} {
		d.ask("ana operator/test", "POST", at(other, "/withdraw"), why)
		if a := d.ask(c.caller, "POST", at(other, "/reject"), `{"reason":"no"}`); a.status != http.StatusOK || !strings.Contains(a.body, `"`+c.want+`"`) {
			t.Errorf("%d %s", a.status, a.body)
		}
		d.ask("bob operator/test", "POST", at(other, "/approve"), `{}`).is(d, http.StatusConflict, app.Refused)
	}
	in.says(0, []string{"object", "withdraw", other, "--reason", "theirs"})
	in.says(3, []string{"object", "approve", other, "--yes"}, "requested it yourself")
	var listed app.Page[withdrawal.Withdrawal]
	if d.ask("bob operator/test", "GET", "/v1/withdrawals?state=requested", "").into(d, &listed); len(listed.Items) != 1 || listed.Items[0].ID != other {
		t.Errorf("%+v", listed)
	}
	if d.ask("bob operator/rocks", "GET", "/v1/withdrawals", "").into(d, &listed); len(listed.Items) != 0 {
		t.Errorf("%+v", listed)
	}
	if a := d.ask("cy reader/test", "GET", at(other, "/versions/1/files/tide.txt"), ""); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// withdrawsAnObject: a process dies while a withdrawal is requested or carried out. The next one
// goes on, until the content is gone and the history of each file says so, once.
func withdrawsAnObject(o *crashInstallation, point string) {
	o.deposit("mixed")
	o.finish()
	var id, job string
	o.must(o.db.QueryRow(o.ctx(), "select l.primary_identifier, l.job_id from record.local_id l where l.local_id = $1", "local-"+o.number()).Scan(&id, &job))
	ask := []string{"object", "withdraw", id, "--reason", "they want it gone"}
	if path.Dir(point) == "record/withdrawal/request" {
		o.dies(point, nil, ask...)
	}
	o.run(ask...)
	if _, err := withdrawal.Approve(o.ctx(), &app.App{Open: o.app.Open, Actor: domain.UserActor("second")}, id, ""); err != nil {
		o.t.Fatal(err)
	}
	if path.Dir(point) != "record/withdrawal/request" {
		o.dies(point, nil, "serve")
	}
	s := o.serve()
	s.works()
	waitFor(o.t, "the removal after a death at "+point, func() bool {
		return o.count("select count(*) from record.withdrawal where primary_identifier = $1 and state = 'removed'", id) == 1
	})
	o.shown()
	s.stop()
	rows, err := o.db.Query(o.ctx(), "select key from record.object_file where primary_identifier = $1", id)
	o.must(err)
	defer rows.Close()
	files := 0
	for ; rows.Next(); files++ {
		var key string
		o.must(rows.Scan(&key))
		if _, err := os.Stat(filepath.Join(o.cfg.Store, filepath.FromSlash(key))); !os.IsNotExist(err) {
			o.t.Errorf("after a death at %s there is still %s (%v)", point, key, err)
		}
	}
	o.must(rows.Err())
	if n := o.count("select count(*) from accession.event e join accession.file f on f.raw_file_hash = e.aggregate_id where e.type = 'file.abandoned' and f.job_id = $1", job); files < 3 || n != 2 {
		o.t.Errorf("after a death at %s: %d files, %d events", point, files, n)
	}
}

// TestWithdrawalOfDeadProcesses: the content of a withdrawn object is gone although the processes
// that remove it are killed, at each step. The history of each file says so once.
// Shows: P1
func TestWithdrawalOfDeadProcesses(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, append(forProcesses, "stop_grace=100ms")...)
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("tide " + r.URL.String() + "\n")) }))
	copies := filepath.Join(t.TempDir(), "copies")
	in.editProfile("fetch:", "replicas: [file://"+copies+"]\nfetch:")
	in = in.with()
	batch := in.submit(app.Deposit{Payload: base + "/tide.txt", LocalIDs: []string{"tides"}, Title: "Tides"})
	s := in.serve()
	s.works()
	in.rest(batch)
	in.shown()
	s.stop()
	object := in.object()
	ask := []string{"object", "withdraw", object, "--reason", "they want it gone"}
	in.killedAt("record/withdrawal/request/after", ask...)
	in.says(0, ask, "another user approves")
	second := &app.App{Open: in.app.Open, Actor: domain.UserActor("second")}
	for range 2 { // the second says that it was done
		if c, err := withdrawal.Approve(in.ctx(), second, object, ""); err != nil || c.State != record.WithdrawalApproved {
			t.Fatalf("%+v %v", c, err)
		}
	}
	for _, point := range []string{
		"withdrawal/content/remove/before",
		"store/delete/remove/after",         // one file is gone
		"withdrawal/content/remove/after",   // the store has none, the replica has all
		"withdrawal/content/remove/after:2", // nor has the replica
		"withdrawal/history/write/after",
		"record/withdrawal/removed/before",
	} {
		in.killedAt(point, "serve")
		if n := in.count("select count(*) from record.withdrawal where state = 'approved'"); n != 1 {
			t.Errorf("after a death at %s %d withdrawals are to be carried out", point, n)
		}
	}
	in.killedAt("record/withdrawal/removed/after", "serve")
	if n := in.count("select count(*) from record.withdrawal where state = 'removed'"); n != 1 {
		t.Errorf("%d withdrawals were carried out", n)
	}
	s = in.serve()
	s.works()
	in.shown()
	in.says(0, words("verify --deep"), "no differences")
	s.stop()
	for _, root := range []string{in.cfg.Store, copies} {
		for name := range in.content(filepath.Join(root, "objects")) {
			if path.Base(name) != "manifest.json" {
				t.Errorf("%s has %s", root, name)
			}
		}
	}
	in.seen(1, domain.EventFileAbandoned)
}
