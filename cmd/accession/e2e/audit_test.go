package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
)

// newStored leaves an installation in which the sample batch and a single file are
// stored, and no worker runs any more; events are carried and projected. It returns a
// completed job of the batch and its object.
func newStored(t *testing.T) (in *installation, job, object string) {
	t.Helper()
	in = newInstallation(t)
	base := webServer(t, samples.Handler())
	stop := in.serveInProcess().stop
	batch := in.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest})
	for _, j := range in.rest(batch).Jobs {
		if j.Status == string(domain.JobCompleted) && len(j.LocalID) > 0 {
			job, object = j.ID, j.PrimaryIdentifier
		}
	}
	in.rest(in.submit(app.Deposit{Payload: base + samples.SingleFile}))
	in.seen(len(samples.Objects()), domain.EventJobCleaned)
	stop()
	in.serveInProcess("relay", "projector")
	in.shown()
	if job == "" {
		t.Fatal("no job has a local id")
	}
	return in, job, object
}

// exec runs a statement that must change rows.
func (in *installation) exec(statement string, args ...any) {
	in.t.Helper()
	done, err := in.db.Exec(in.t.Context(), statement, args...)
	in.must(err)
	if done.RowsAffected() == 0 {
		in.t.Fatalf("%s changes nothing", statement)
	}
}

// Shows: P13
func TestVerifyFindsAndRepairsTheInventory(t *testing.T) {
	t.Parallel()
	in, job, object := newStored(t)
	if r := in.settled(); len(r.Findings) > 0 || r.Objects == 0 || r.Stored == 0 || r.Inventory != r.Objects {
		t.Fatalf("before any damage: %+v\n%s", r, findings(r.Findings))
	}
	if n := in.count("select count(*) from record.effect where begun <> 1"); n != 0 {
		t.Errorf("%d effects of a run without faults were not begun once", n)
	}
	before := in.inventory()
	for _, c := range []struct {
		name, damage string
		want         domain.Code
	}{
		{"a version is gone", "with f as (delete from record.object_file where version = 1 and primary_identifier = $2), v as (delete from record.object_version where job_id = $1) select from record.object", consistency.VersionUnrecorded},
		{"a file of a version is gone", "delete from record.object_file where primary_identifier = $2 and kind = 'system' and $1 <> ''", consistency.FilesWrong},
		{"a file has another digest", "update record.object_file set sha256 = repeat('0', 64) where primary_identifier = $2 and kind = 'producer' and $1 <> ''", consistency.FilesWrong},
		{"a file has another size", "update record.object_file set size = size + 1 where primary_identifier = $2 and kind = 'producer' and $1 <> ''", consistency.FilesWrong},
		{"a file too many", "insert into record.object_file select primary_identifier, version, kind, name || 'x', key, size, sha256, mime_type from record.object_file where primary_identifier = $2 and kind = 'system' and $1 <> ''", consistency.FilesWrong},
		{"a version of another submitter", "update record.object_version set submitter = 'eve' where job_id = $1 and $2 <> ''", consistency.VersionWrong},
		{"a version of another job", "update record.object_version set job_id = 'jid0000009999' where job_id = $1 and $2 <> ''", consistency.VersionUnrecorded},
		{"a version with another manifest", "update record.object_version set manifest_sha256 = repeat('0', 64) where job_id = $1 and $2 <> ''", consistency.VersionWrong},
		{"a version of more bytes", "update record.object_version set bytes = bytes + 1 where job_id = $1 and $2 <> ''", consistency.VersionWrong},
		{"an object of another collection", "update record.object set collection = 'other' where primary_identifier = $2 and $1 <> ''", consistency.ObjectWrong},
		{"an object of another title", "update record.object set erc_what = 'x' where primary_identifier = $2 and $1 <> ''", consistency.ObjectWrong},
		{"an object of a higher version", "update record.object set current_version = 9 where primary_identifier = $2 and $1 <> ''", consistency.ObjectWrong},
		{"a reservation is gone", "delete from record.version_reservation where job_id = $1 and $2 <> ''", consistency.ReservationWrong},
		{"a version is reserved for another job", "update record.version_reservation set job_id = 'jid0000009999' where job_id = $1 and $2 <> ''", consistency.ReservationWrong},
		{"the effect of storing is gone", "delete from record.effect where kind = 'store' and key like $1 || '/%' and $2 <> ''", consistency.ReservationWrong},
		{"an identifier is gone", "delete from record.identifier where job_id = $1 and $2 <> ''", consistency.IdentifierMissing},
		{"a local id is gone", "delete from record.local_id where primary_identifier = $2 and $1 <> ''", consistency.LocalIDMissing},
	} {
		in.exec(c.damage, job, object)
		if slices.Contains([]string{"a version of another job"}, c.name) {
			in.mendsSome(c.name, c.want)
		} else {
			in.mends(c.name, c.want)
		}
		if after := in.inventory(); after != before {
			t.Fatalf("%s: the inventory was\n%s\nand is\n%s", c.name, before, after)
		}
	}
	// What no job has stored is for a person: nothing is removed.
	in.exec("insert into record.object select (jsonb_populate_record(o, jsonb_build_object('primary_identifier', o.primary_identifier || 'x'))).* from record.object o where primary_identifier = $1", object)
	if r := in.settled(); len(r.Findings) != 1 || r.Findings[0].Code != consistency.VersionUnexplained || r.Worst != app.NeedsPerson || !strings.Contains(r.Findings[0].String(), object+"x") {
		t.Errorf("an object that was made by hand:\n%s", findings(r.Findings))
	}
}

// mendsSome is mends where other findings than the one that is wanted need a person until
// the repair.
func (in *installation) mendsSome(name string, want domain.Code) {
	in.t.Helper()
	v, err := in.app.Repair(in.ctx(), app.VerifyOptions{Wait: time.Second})
	if err != nil || v.Worst != "" || !slices.ContainsFunc(v.Findings, func(f app.Finding) bool { return f.Code == want }) {
		in.t.Fatalf("%s: repaired, and then %q: %v\n%s\n%+v", name, v.Worst, err, findings(v.Findings), v.Repairs)
	}
}

// inventory returns all of the inventory but for the times of its rows.
func (in *installation) inventory() string {
	in.t.Helper()
	var text string
	in.must(in.db.QueryRow(in.t.Context(), `select jsonb_pretty(jsonb_agg(t order by t::text)) from (
		select to_jsonb(o) - 'created_at' - 'modified_at' as t from record.object o
		union all select to_jsonb(v) - 'recorded_at' from record.object_version v
		union all select to_jsonb(f) from record.object_file f
		union all select to_jsonb(r) - 'reserved_at' from record.version_reservation r
		union all select to_jsonb(i) - 'reserved_at' - 'done_at' from record.identifier i
		union all select to_jsonb(l) - 'bound_at' from record.local_id l
		union all select to_jsonb(e) - 'begun_at' - 'finished_at' - 'begun' from record.effect e where kind = 'store') s`).Scan(&text))
	return text
}

// An older dump of the records, even an empty one, is found and made again.
// Shows: P13
func TestVerifyRepairsAnOlderDump(t *testing.T) {
	t.Parallel()
	in, _, _ := newStored(t)
	file := filepath.Join(t.TempDir(), "tide.txt")
	in.must(os.WriteFile(file, []byte("4.2 m\n"), 0o600))
	once := app.Deposit{Payload: file, Title: "Tide", Key: "drop:1"} // as those of the drop folder have
	batch := in.submit(once)
	in.shown()
	before, collections := in.inventory(), in.count("select count(*) from record.identifier_collection")
	in.exec(`with f as (delete from record.object_file), i as (delete from record.identifier), l as (delete from record.local_id),
		r as (delete from record.version_reservation), e as (delete from record.effect where kind = 'store'),
		c as (delete from record.identifier_collection), d as (delete from record.deposit), m as (delete from record.delivery),
		u as (delete from record.payload_url), k as (delete from record.command) select from record.object`)
	in.exec("delete from record.object_version")
	in.exec("delete from record.object")
	in.says(20, words("verify"), "version_unrecorded", "reservation_wrong", "key_forgotten", "not looked at: content of stored files: --deep reads it")
	in.says(20, words("verify --repair"), "would be repaired")
	if in.count("select count(*) from record.object") != 0 {
		t.Error("a dry run changed something")
	}
	in.says(0, words("verify --repair --yes"), "repaired")
	in.says(0, words("verify --deep"), "no differences", "by SHA-256 of")
	if after := in.inventory(); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	if n := in.count("select count(*) from record.identifier_collection"); n != collections {
		t.Errorf("%d identifiers have a collection, and %d had one", n, collections)
	}
	if again := in.submit(once); again != batch {
		t.Errorf("the deposit of %s was made again as %s", batch, again)
	}
	// Work goes on with versions and names after those that were lost.
	in.serveInProcess("daemons")
	base := webServer(t, samples.Handler())
	in.rest(in.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest}))
	in.agree()
	if r := in.settled(); len(r.Findings) > 0 {
		t.Error(findings(r.Findings))
	}
}

// An older dump is made again also of a job of which the log knows nothing yet: its events
// wait in the outbox.
// Shows: P13
func TestVerifyRepairsAnOlderDumpOfUnsentEvents(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	s := in.serveInProcess(run.RoleDaemons)
	file := filepath.Join(t.TempDir(), "tide.txt")
	in.must(os.WriteFile(file, []byte("4.2 m\n"), 0o600))
	in.submit(app.Deposit{Payload: file, Title: "Tide"})
	live, err := in.wired.Live(in.ctx())
	in.must(err)
	waitFor(t, "the job to complete", func() bool {
		at, err := live.Job(in.ctx(), domain.NewJobID(1))
		return err == nil && at.State.State == domain.JobCompleted
	})
	s.stop()
	before := in.inventory()
	in.exec(`with f as (delete from record.object_file), i as (delete from record.identifier), r as (delete from record.version_reservation),
		e as (delete from record.effect where kind = 'store') select from record.object`)
	in.exec("delete from record.object_version")
	in.exec("delete from record.object")
	in.call(words("verify --repair --yes --wait 1s")...)
	if after := in.inventory(); after != before || !strings.Contains(before, "tide.txt") {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
}

// Damage in the object store is reported, and never changed by a repair.
// Shows: P13
func TestVerifyFindsDamagedObjects(t *testing.T) {
	t.Parallel()
	in, _, object := newStored(t)
	var data, manifest string
	in.must(in.db.QueryRow(t.Context(), "select key from record.object_file where primary_identifier = $1 and kind = 'producer' order by name limit 1", object).Scan(&data))
	in.must(in.db.QueryRow(t.Context(), "select manifest_key from record.object_version where primary_identifier = $1", object).Scan(&manifest))
	path := func(key string) string { return filepath.Join(in.cfg.Store, filepath.FromSlash(key)) }
	for _, c := range []struct {
		name   string
		key    string
		damage func(path string, content []byte) error
		want   domain.Code
		deep   bool // found with --deep only
	}{
		{"a truncated file", data, func(p string, b []byte) error { return os.WriteFile(p, b[:len(b)-1], 0o644) }, consistency.StoredSizeWrong, false},
		{"an altered file", data, func(p string, b []byte) error {
			b = slices.Clone(b)
			b[0] ^= 1
			return os.WriteFile(p, b, 0o644)
		}, consistency.StoredCorrupt, true},
		{"a deleted file", data, func(p string, _ []byte) error { return os.Remove(p) }, consistency.StoredMissing, false},
		{"an altered manifest", manifest, func(p string, b []byte) error {
			return os.WriteFile(p, []byte(strings.Replace(string(b), `"version"`, `"Version"`, 1)), 0o644)
		}, consistency.ManifestCorrupt, false},
		{"a truncated manifest", manifest, func(p string, b []byte) error { return os.WriteFile(p, b[:len(b)/2], 0o644) }, consistency.ManifestCorrupt, false},
		{"a deleted manifest", manifest, func(p string, _ []byte) error { return os.Remove(p) }, consistency.ManifestMissing, false},
		{"a file that no job explains", "objects/00/00/x/v1/producer/x", func(p string, _ []byte) error {
			return errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, nil, 0o644))
		}, consistency.StoredUnexplained, false},
	} {
		content, err := os.ReadFile(path(c.key))
		there := err == nil
		in.must(c.damage(path(c.key), content))
		if v := in.audited(false); hasCode(v.Findings, c.want) == c.deep {
			t.Errorf("%s: without --deep:\n%s", c.name, findings(v.Findings))
		}
		if v := in.audited(true); !hasCode(v.Findings, c.want) || v.Worst != app.NeedsPerson {
			t.Errorf("%s: want %s, got\n%s", c.name, c.want, findings(v.Findings))
		}
		args := "verify --repair --yes"
		if c.deep {
			args += " --deep --object " + object
		}
		in.says(21, words(args), string(c.want))
		if now, err := os.ReadFile(path(c.key)); (err == nil) != (c.want != consistency.StoredMissing && c.want != consistency.ManifestMissing) || there && string(now) == string(content) {
			t.Errorf("%s: the repair changed the store: %v", c.name, err)
		}
		if there {
			in.must(os.WriteFile(path(c.key), content, 0o644))
		} else {
			in.must(os.RemoveAll(path("objects/00")))
		}
		if v := in.audited(true); len(v.Findings) > 0 {
			t.Fatalf("%s: put back, and then\n%s", c.name, findings(v.Findings))
		}
	}
}

func hasCode(list []app.Finding, code domain.Code) bool {
	return slices.ContainsFunc(list, func(f app.Finding) bool { return f.Code == code })
}

func (in *installation) audited(deep bool) app.Verified {
	in.t.Helper()
	v, err := in.app.Verify(in.ctx(), app.VerifyOptions{Wait: time.Second, Deep: deep})
	in.must(err)
	return v
}

// A check that reads slowly can be cut off and continued from the object it was at.
func TestVerifyDeepContinues(t *testing.T) {
	t.Parallel()
	in, _, _ := newStored(t)
	all := in.audited(true)
	if all.Last == "" || all.Read == 0 {
		t.Fatalf("%+v", all)
	}
	ctx, cancel := context.WithTimeout(in.ctx(), time.Second)
	defer cancel()
	if _, err := in.app.Verify(ctx, app.VerifyOptions{Deep: true, Rate: 1}); err == nil {
		t.Error("a byte per second is enough to read everything in a second")
	}
	v, err := in.app.Verify(in.ctx(), app.VerifyOptions{Deep: true, Objects: app.ObjectRange{From: all.Last}})
	if err != nil || v.Objects != 1 || v.Read >= all.Read || v.Last != all.Last || len(v.Findings) > 0 {
		t.Errorf("from the last object on: %+v, %v", v, err)
	}
}

// A process with the role auditor audits as often and as fast as its settings say.
func TestServeAudits(t *testing.T) {
	t.Parallel()
	in, _, object := newStored(t)
	in = in.with("audit_interval=50ms", "audit_rate=3 GiB")
	a, err := in.wired.Auditor(in.ctx())
	in.must(err)
	if a.Interval != 50*time.Millisecond || a.Rate != 3<<30 {
		t.Errorf("it audits each %s with %d bytes per second", a.Interval, a.Rate)
	}
	in.serveInProcess("auditor")
	waitFor(t, "a complete pass", func() bool {
		return in.count("select count(*) from record.audit where ended_at is not null and objects = (select count(*) from record.object_version)") == 1
	})
	var key string
	in.must(in.db.QueryRow(t.Context(), "select key from record.object_file where primary_identifier = $1 and kind = 'producer' order by name limit 1", object).Scan(&key))
	in.must(os.Remove(filepath.Join(in.cfg.Store, filepath.FromSlash(key))))
	waitFor(t, "the missing file to be found", func() bool { return in.count("select count(*) from record.corrupt_file where key = $1", key) == 1 })
}

// The auditor makes rows again that the inventory lacks, as they were, and says so in the
// history of maintenance; nothing as long as a server is an older copy.
// Shows: P13
func TestAuditorRestoresTheInventory(t *testing.T) {
	t.Parallel()
	in, job, object := newStored(t)
	a, err := in.wired.Auditor(in.ctx())
	in.must(err)
	a.Interval, a.Rate = time.Millisecond, 0
	pass := func() {
		t.Helper()
		waitFor(t, "a pass of the auditor", func() bool {
			done, err := a.Once(in.ctx())
			in.must(err)
			return done
		})
	}
	whole := in.inventory()
	in.exec(`with f as (delete from record.object_file where primary_identifier = $2), l as (delete from record.local_id where primary_identifier = $2),
		i as (delete from record.identifier where job_id = $1), v as (delete from record.object_version where job_id = $1) select from record.object`, job, object)
	in.exec("delete from record.object where primary_identifier = $1", object)
	less := in.inventory()
	z := in.raw()
	next := z.get("/ids/jid")
	z.set("/ids/jid", "1")
	pass()
	if in.inventory() != less {
		t.Error("rows were made again beside an older copy of the tree")
	}
	z.set("/ids/jid", next)
	pass()
	if after := in.inventory(); after != whole {
		t.Fatalf("the inventory was\n%s\nand is\n%s", whole, after)
	}
	repaired := in.first(domain.EventSettingRepaired, func(domain.Recorded) bool { return true })
	if d := repaired.Data.(*domain.SettingRepaired); repaired.Actor != "daemon/auditor" || len(d.Repaired) == 0 {
		t.Errorf("the history says %s %+v", repaired.Actor, d)
	}
	if v := in.audited(true); len(v.Findings) > 0 {
		t.Errorf("after it\n%s", findings(v.Findings))
	}
}

// The auditor finds what is corrupt, gives its file up in the history, and finds that a
// sound copy was put back; an interrupted pass is continued.
// Shows: P13
func TestAuditorGivesUpCorruptFiles(t *testing.T) {
	t.Parallel()
	in, job, object := newStored(t)
	a, err := in.wired.Auditor(in.ctx())
	in.must(err)
	a.Interval, a.Rate = time.Millisecond, 0
	once := func() {
		t.Helper()
		// The first call only notes when the auditor was first started, or it is not yet time.
		waitFor(t, "a pass of the auditor", func() bool {
			done, err := a.Once(in.ctx())
			in.must(err)
			return done
		})
	}
	once()
	if n := in.count("select count(*) from record.corrupt_file"); n != 0 || in.count("select objects from record.audit") == 0 {
		t.Fatalf("%d files are corrupt before any damage", n)
	}
	var key, name string
	in.must(in.db.QueryRow(t.Context(), "select key, name from record.object_file where primary_identifier = $1 and kind = 'producer' order by name limit 1", object).Scan(&key, &name))
	path := filepath.Join(in.cfg.Store, filepath.FromSlash(key))
	content, err := os.ReadFile(path)
	in.must(err)
	bad := slices.Clone(content)
	bad[0] ^= 1
	in.must(os.WriteFile(path, bad, 0o644))
	var before int
	in.must(in.db.QueryRow(t.Context(), "select count(*) from accession.batch_report").Scan(&before))
	for range 2 { // the second pass changes nothing
		once()
		in.seen(1, domain.EventFileAbandoned)
		in.shown()
		if n := in.count("select count(*) from accession.file where job_id = $1 and path = $2 and status = 'ABANDONED' and reason_code = 'object_corrupt'", job, name); n != 1 {
			t.Errorf("the file is not given up")
		}
		if n := in.count("select count(*) from accession.event where type = 'file.abandoned'"); n != 1 {
			t.Errorf("%d files were given up", n)
		}
	}
	view, err := in.app.Job(in.ctx(), domain.JobID(job))
	in.must(err)
	if view.Status != string(domain.JobCompleted) || view.CorruptSince == nil {
		t.Errorf("the job is %s, corrupt since %v", view.Status, view.CorruptSince)
	}
	in.says(0, words("job show "+job), "corrupt since")
	in.says(0, words("batch report "+view.BatchID), job+": what is stored of it is corrupt since")
	in.says(0, words("status"), "audit       last complete", "1 STORED FILES ARE CORRUPT")
	if after := in.count("select count(*) from accession.batch_report"); after != before {
		t.Errorf("%d reports, %d before", after, before)
	}
	in.says(21, words("verify --deep"), string(consistency.StoredCorrupt))
	in.must(os.WriteFile(path, content, 0o644))
	once()
	if view, err := in.app.Job(in.ctx(), domain.JobID(job)); err != nil || view.CorruptSince != nil {
		t.Errorf("put back, and then corrupt since %v: %v", view.CorruptSince, err)
	}
	for range 2 { // the second pass changes nothing
		in.seen(1, domain.EventFileReopened)
		in.shown()
		var rows string
		in.must(in.db.QueryRow(t.Context(), `select string_agg(to_status, ' ' order by version) from (select * from report.file_lifecycle
			where job_id = $1 and path = $2 order by version desc limit 5) l`, job, name).Scan(&rows))
		if rows != "PROCESSING_FAILED ABANDONED READY PROCESSING PROCESSED" {
			t.Errorf("put back, and then the history of the file is %s", rows)
		}
		once()
	}
	in.says(0, words("verify --deep"), "no differences")

	// What Accession made of a version has no file of the deposit in the history: job, report
	// and status say that it is corrupt, and that it is no more.
	var made, listing string
	in.must(in.db.QueryRow(t.Context(), "select key from record.object_file where primary_identifier = $1 and kind = 'system' order by name limit 1", object).Scan(&made))
	in.must(in.db.QueryRow(t.Context(), "select manifest_key from record.object_version where job_id = $1", job).Scan(&listing))
	for key, code := range map[string]domain.Code{made: consistency.StoredCorrupt, listing: consistency.ManifestCorrupt} {
		path := filepath.Join(in.cfg.Store, filepath.FromSlash(key))
		content, err := os.ReadFile(path)
		in.must(err)
		bad := slices.Clone(content)
		bad[len(bad)/2] ^= 1
		in.must(os.WriteFile(path, bad, 0o644))
		once()
		if view, err := in.app.Job(in.ctx(), domain.JobID(job)); err != nil || view.Status != string(domain.JobCompleted) || view.CorruptSince == nil {
			t.Errorf("%s is damaged: the job is %s, corrupt since %v: %v", key, view.Status, view.CorruptSince, err)
		}
		in.says(0, words("job show "+job), "corrupt since")
		in.says(0, words("batch report "+view.BatchID), job+": what is stored of it is corrupt since")
		in.says(0, words("status"), "1 STORED FILES ARE CORRUPT")
		in.says(21, words("verify --deep"), string(code), key)
		in.must(os.WriteFile(path, content, 0o644))
		once()
		if view, err := in.app.Job(in.ctx(), domain.JobID(job)); err != nil || view.CorruptSince != nil {
			t.Errorf("%s is put back, and then corrupt since %v: %v", key, view.CorruptSince, err)
		}
		if n := in.count("select count(*) from accession.event where type = 'file.abandoned'"); n != 1 {
			t.Errorf("%s was damaged: %d files of deposits were given up", key, n)
		}
	}

	// A pass that is interrupted is continued where it was.
	in.exec("update record.audit set ended_at = null, position = (select max(primary_identifier) from record.object), objects = 100")
	once()
	if n := in.count("select objects from record.audit"); n != 101 {
		t.Errorf("the pass was continued and has compared %d objects, want 101", n)
	}
}
