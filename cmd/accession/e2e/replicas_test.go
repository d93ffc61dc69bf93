package e2e

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/ocflcheck"
)

// TestReplicas: each version is copied to the replicas of its profile before its job goes on. A
// replica that cannot be written holds no job up; its copies are made later. The auditor copies
// back what the store has lost, and copies again what a replica has lost; verify finds both.
// Shows: P13
func TestReplicas(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.URL.String() + "\n")) }))
	dir := t.TempDir()
	first, second, broken := filepath.Join(dir, "first"), filepath.Join(dir, "second"), filepath.Join(dir, "file", "third")
	in.must(os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	in.editProfile("fetch:", "layout: ocfl\nreplicas: [file://"+first+", file://"+second+"]\nfetch:")
	in = in.with()
	deposit := func(mode string) string {
		t.Helper()
		batch := in.submit(app.Deposit{Payload: base + "/tide.txt?n=" + mode, LocalIDs: []string{"tides"}, Title: "Tides", Mode: mode})
		run := in.serve()
		run.works()
		jobs := in.rest(batch).Jobs
		run.stop()
		in.shown()
		if len(jobs) != 1 || jobs[0].Status != string(domain.JobCompleted) {
			t.Fatalf("%+v", jobs)
		}
		return jobs[0].PrimaryIdentifier
	}
	same := func(when string) {
		t.Helper()
		want := in.content(filepath.Join(in.cfg.Store, "ocfl"))
		for _, at := range []string{first, second} {
			if got := in.content(filepath.Join(at, "ocfl")); !maps.Equal(got, want) || len(got) < 10 {
				t.Errorf("%s, %s has %v, and the store %v", when, at, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
			}
		}
	}
	object := deposit("add")
	deposit("update")
	in.serveInProcess("relay", "projector")
	same("after two versions")
	if n := in.count("select count(*) from record.replica where state = 'stored' and attempts = 1"); n != 4 {
		t.Errorf("%d copies are stored", n)
	}
	if _, faults := ocflcheck.Check(os.DirFS(filepath.Join(second, "ocfl"))); len(faults) > 0 {
		t.Errorf("%v", faults)
	}
	in.says(0, words("verify --deep"), "no differences")
	in.says(0, []string{"object", "show", object}, "file://"+first, "stored")

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
	var data, manifest string
	in.must(in.db.QueryRow(t.Context(), "select key from record.object_file where kind = 'producer' and version = 2").Scan(&data))
	in.must(in.db.QueryRow(t.Context(), "select manifest_key from record.object_version where version = 2").Scan(&manifest))
	inventory := filepath.Join(filepath.Dir(filepath.Dir(manifest)), "inventory.json")
	root := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(manifest))), "inventory.json")
	for _, key := range []string{data, manifest, inventory, root} {
		for _, at := range []string{in.cfg.Store, first} {
			path := filepath.Join(at, filepath.FromSlash(key))
			content, err := os.ReadFile(path)
			in.must(err)
			content[0] ^= 1
			in.must(os.WriteFile(path, content, 0o600))
			in.says(20, words("verify --deep"))
			audit()
			same("after " + key + " was changed in " + at)
			in.must(os.Remove(path))
			in.says(20, words("verify"))
			in.says(0, words("verify --repair --yes"))
			same("after " + key + " was removed from " + at)
		}
	}
	if n := in.count("select count(*) from record.corrupt_file where state <> 'sound'") + in.count("select count(*) from accession.file where status = 'ABANDONED'"); n != 0 {
		t.Errorf("%d files are corrupt or given up", n)
	}

	// One that none has any more is for a person.
	kept := in.content(in.cfg.Store)[filepath.FromSlash(data)]
	for _, at := range []string{in.cfg.Store, first, second} {
		in.must(os.Remove(filepath.Join(at, filepath.FromSlash(data))))
	}
	in.says(21, words("verify"), string(consistency.StoredMissing), string(consistency.ReplicaWrong))
	audit()
	in.seen(1, domain.EventFileAbandoned)
	in.must(os.WriteFile(filepath.Join(in.cfg.Store, filepath.FromSlash(data)), []byte(kept), 0o600))
	audit()
	in.exec("update record.replica set next_at = clock_timestamp() where state = 'pending'")
	in.must(a.Pending.Once(in.ctx()))
	same("after a copy was put back")

	// A replica that cannot be written.
	in.editProfile("replicas: [", "replicas: [file://"+broken+", ")
	in = in.with()
	deposit("update")
	same("after a version beside a broken replica")
	if n := in.count("select count(*) from record.replica where state = 'pending' and error <> '' and version = 3 and location like '%third'"); n != 1 {
		t.Errorf("%d copies are pending", n)
	}
	in.serveInProcess("relay", "projector")
	in.says(20, words("verify"), string(consistency.ReplicaMissing), "third")
	in.says(0, words("status"), "replicas are pending")
	in.must(os.Remove(filepath.Join(dir, "file")))
	a, err = in.wired.Auditor(in.ctx())
	in.must(err)
	a.Interval, a.Rate = time.Millisecond, 0
	audit() // what is there already is required too
	in.exec("update record.replica set next_at = clock_timestamp() where state = 'pending'")
	in.must(a.Pending.Once(in.ctx()))
	if want, got := in.content(filepath.Join(in.cfg.Store, "ocfl")), in.content(filepath.Join(broken, "ocfl")); !maps.Equal(want, got) {
		t.Errorf("the replica has %v", slices.Sorted(maps.Keys(got)))
	}
	in.says(0, words("verify --deep"), "no differences")

	// A replica that the profile does not name any more.
	in.exec("update record.replica set state = 'pending', next_at = clock_timestamp() where location like '%third'")
	in.editProfile("file://"+broken+", ", "")
	in = in.with()
	a, err = in.wired.Auditor(in.ctx())
	in.must(err)
	in.must(a.Pending.Once(in.ctx()))
	if n := in.count("select count(*) from record.replica where location like '%third'"); n != 0 {
		t.Errorf("%d copies are still pending for it", n)
	}
	in.says(0, words("verify"), "no differences")
	if strings.Contains(in.says(0, words("status")), "replicas are pending") {
		t.Error("replicas are pending")
	}
}

// replicates: a version is copied to the replica of its profile, wherever a process dies; what a
// replica has lost is copied again; and a replica that no profile names any more is forgotten.
func replicates(o *crashInstallation, point string) {
	name := "r" + strings.ReplaceAll(uuid.NewString(), "-", "")
	at, file := filepath.Join(o.dir, name), filepath.Join(o.dir, name+".yaml")
	set := func(replicas string) {
		o.must(os.WriteFile(file, []byte(strings.ReplaceAll(profileOf(""), ": test\n", ": "+name+"\n")+replicas+"callback: {url: "+o.base+"/callback}\n"), 0o600))
		o.run("profile", "set", name, file, "--reason", "a test")
	}
	replicas := func(state string) int {
		return o.count("select count(*) from record.replica where profile_name = $1 and state = $2", name, state)
	}
	if strings.HasPrefix(point, "record/replica/fail/") { // a file is in the way
		o.must(os.WriteFile(at, nil, 0o600))
	}
	set("replicas: [file://" + at + "]\n")
	o.n++
	_, err := o.app.Submit(o.ctx(), app.Deposit{Profile: name, Submitter: "tester", Payload: o.base + "/again?n=" + o.number(), Type: domain.TypeFileBatchManifest})
	o.must(err)
	switch {
	case strings.HasPrefix(point, "record/replica/repeat/"):
		o.finish()
		o.must(os.RemoveAll(filepath.Join(at, "objects")))
		o.dies(point, nil, "serve", "--set=audit_interval=10ms")
		if replicas("stored") == 1 { // it died before
			o.run("verify", "--repair", "--yes")
		}
	case strings.HasPrefix(point, "record/replica/forget/"):
		o.finish()
		o.exec("update record.replica set state = 'pending' where profile_name = $1", name)
		set("")
		o.dies(point, nil, "serve")
	case strings.HasPrefix(point, "record/replica/fail/"):
		o.dies(point, nil, "serve")
		o.finish()
		o.must(os.Remove(at))
		o.exec("update record.replica set next_at = clock_timestamp() where profile_name = $1", name)
	default:
		o.dies(point, nil, "serve")
	}
	o.n++ // so that a service is started again
	s := o.serve()
	s.works()
	waitFor(o.t, "replicas to be copied after a death at "+point, func() bool { return replicas("pending") == 0 })
	s.stop()
	o.n--
	o.finish()
	if strings.HasPrefix(point, "record/replica/forget/") {
		if n := replicas("stored"); n != 0 {
			o.t.Errorf("%s: %d replicas are not forgotten", point, n)
		}
		return
	}
	if stored, err := filepath.Glob(filepath.Join(at, "objects", "*", "*", "*", "v1", "manifest.json")); len(stored) != 1 || replicas("stored") != 1 {
		o.t.Errorf("%s: the replica has %v (%v), and %d are known", point, stored, err, replicas("stored"))
	}
}
