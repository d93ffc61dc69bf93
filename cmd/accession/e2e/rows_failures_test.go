package e2e

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// ends: batches and jobs fail early and are deleted from wherever they are.
func ends(s *scene) {
	base := webServer(s.t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/batch.checkm" {
			http.Error(rw, "lost", http.StatusNotFound)
			return
		}
		rows := batchOfFiles(r.Host, "faulty.txt", "held.txt", "lost.txt")
		_, _ = io.WriteString(rw, strings.Replace(rows, "http://"+r.Host+"/faulty", "gopher://"+r.Host+"/faulty", 1))
	}))
	s.profile("")
	s.serveInProcess(run.RoleRelay, run.RoleProjector)
	id := s.deposit(app.Deposit{Payload: base + "/batch.checkm", Type: domain.TypeFileBatchManifest}, "batch.checkm")
	jobs := s.expects(id, firstJob,
		map[string]any{"payload_url": "", "row_fault": "row_fault"},
		map[string]any{"payload_url": base + "/held.txt", "file_name": "held.txt"},
		map[string]any{"payload_url": base + "/lost.txt", "file_name": "lost.txt"})
	faulty, held, lost := jobs[0], jobs[1], jobs[2]
	s.daemon("batch-pending", s.batch(id, "listed B3"), s.job(faulty, "J1"), s.job(held, "J1"), s.job(lost, "J1"))
	s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.HoldJob(ctx, held, "rights") }, s.job(held, "J2/held_by_operator"))
	s.daemon("job-pending", s.job(faulty, "J5/row_fault"), s.job(lost, "J4"))
	s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.FailJob(ctx, lost, "withdrawn") }, s.job(lost, "J24/cancelled"))
	s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.Requeue(ctx, lost, "after all") }, s.job(lost, "J25/requested"))
	s.daemon("job-pending", s.job(lost, "J4"))
	s.daemon("job-estimating", s.job(lost, "J6"), s.path(lost, "lost.txt", "F1"))
	s.daemon("job-provisioning", s.job(lost, "J7"))
	s.daemon("job-downloading", s.job(lost, "J9/http_status"), s.path(lost, "lost.txt", "F2 F5 F7"))
	s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.DeleteJob(ctx, held, "sent twice") },
		s.job(held, "J22/requested"), s.batch(id, "B5"))
	s.reported(id, "B7", nil, []domain.JobID{faulty, lost}, nil, nil)
	s.daemon("batch-reporting", s.batch(id, "B7"))
	s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.DeleteJob(ctx, faulty, "sent twice") }, s.job(faulty, "J21/requested"))
	s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.RequestUpdate(ctx, id, "once more") }, s.batch(id, "B8/requested"))
	s.reported(id, "B10", nil, []domain.JobID{lost}, nil, []domain.JobID{lost})
	s.daemon("batch-update-reporting", s.batch(id, "B10"))
	s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.DeleteBatch(ctx, id, "withdrawn") }, s.batch(id, "B11/requested"), s.job(lost, "J23"))

	// A batch that is held, and one whose manifest is lost.
	s.hold()
	parked := s.deposit(app.Deposit{Payload: base + "/parked.txt", Type: domain.TypeFile}, "parked.txt")
	s.daemon("batch-pending", s.batch(parked, "B2/collection_held"))
	s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.DeleteBatch(ctx, parked, "withdrawn") }, s.batch(parked, "B12/requested"))
	s.open()
	bad := s.deposit(app.Deposit{Payload: base + "/no.checkm", Type: domain.TypeBatchManifest}, "no.checkm")
	s.daemon("batch-pending", s.batch(bad, "B3/http_status B5/http_status"))
	s.reported(bad, "B7", nil, nil, nil, nil)
	s.daemon("batch-reporting", s.batch(bad, "B7/http_status"))
	retires(s, base, bad)
}

// retires: failed batches, one without a job and one with a failed job, are cleaned up.
func retires(s *scene, base string, bad domain.BatchID) {
	id := s.deposit(app.Deposit{Payload: base + "/gone.txt", Type: domain.TypeFile}, "gone.txt")
	j := s.expects(id, firstJob.Plus(3), map[string]any{"payload_url": base + "/gone.txt", "file_name": "gone.txt"})[0]
	s.daemon("batch-pending", s.batch(id, "listed B3"), s.job(j, "J1"))
	s.daemon("job-pending", s.job(j, "J4"))
	s.daemon("job-estimating", s.job(j, "J6"), s.path(j, "gone.txt", "F1"))
	s.daemon("job-provisioning", s.job(j, "J7"))
	s.daemon("job-downloading", s.job(j, "J9/http_status"), s.path(j, "gone.txt", "F2 F5 F7"), s.batch(id, "B5"))
	s.reported(id, "B7", nil, []domain.JobID{j}, nil, nil)
	s.daemon("batch-reporting", s.batch(id, "B7"))
	s.jobs[j].gone = true
	moves := []move{s.batch(bad, "B14/cleaned"), s.batch(id, "B14/cleaned")}
	stop := s.only("janitor", "failed_retention", "1ms")
	s.logged("daemon/janitor", moves)
	s.vanishes(bad)
	s.vanishes(id)
	s.left(moves)
	stop()
}

// damages: files of an object are there already, are damaged, left out, taken up
// again, cannot be stored, and are corrupt when they are read back.
func damages(s *scene) {
	var mended atomic.Bool
	base := webServer(s.t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/object.checkm":
			rows := strings.Replace(batchOfFiles(r.Host, "a.txt", "b.txt", "c.txt"), "mrt-single-file-batch-manifest", "mrt-ingest-manifest", 1)
			_, _ = io.WriteString(rw, rows)
		case r.URL.Path == "/c.txt" && !mended.Load():
			http.Error(rw, "lost", http.StatusNotFound)
		default:
			_, _ = io.WriteString(rw, r.URL.Path)
		}
	}))
	s.profile("")
	s.serveInProcess(run.RoleRelay, run.RoleProjector)
	id := s.deposit(app.Deposit{Payload: base + "/object.checkm", Type: domain.TypeObjectManifest}, "object.checkm")
	j := s.expects(id, firstJob, map[string]any{"payload_url": base + "/object.checkm", "file_name": "object.checkm", "payload_type": "object_manifest"})[0]
	all := func(a, b, c string) []move {
		return []move{s.path(j, "a.txt", a), s.path(j, "b.txt", b), s.path(j, "c.txt", c)}
	}
	s.daemon("batch-pending", s.batch(id, "listed B3"), s.job(j, "J1"))
	s.daemon("job-pending", s.job(j, "J4"))
	s.jobs[j].size = 12 // the third file's is not known
	s.daemon("job-estimating", append(all("F1", "F1", "F1"), s.job(j, "J6"))...)
	s.daemon("job-provisioning", s.job(j, "J7"))

	// An earlier claim has left the first file.
	files := filepath.Join(s.cfg.WorkDir, string(id), string(j), "files")
	if err := os.MkdirAll(files, 0o750); err != nil {
		s.t.Fatal(err)
	}
	s.write(filepath.Join(files, "a.txt"), "/a.txt")
	s.daemon("job-downloading", append(all("F3", "F2 F4", "F2 F5 F7"), s.job(j, "J9/http_status"), s.batch(id, "B5"))...)
	hash := domain.HashFile(string(j), "b.txt")
	s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.SkipFile(ctx, hash, "not wanted") }, s.path(j, "b.txt", "F9"))
	s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.RequeueFile(ctx, hash, "wanted") }, s.path(j, "b.txt", "O3"))
	s.operator(func(ctx context.Context) (app.Changed, error) {
		return s.app.RequeueFile(ctx, domain.HashFile(string(j), "c.txt"), "found")
	}, s.path(j, "c.txt", "O1/requested"))
	s.reported(id, "B7", nil, []domain.JobID{j}, nil, nil)
	s.daemon("batch-reporting", s.batch(id, "B7"))

	mended.Store(true)
	s.write(filepath.Join(files, "a.txt"), "damaged")
	s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.Requeue(ctx, j, "mended") }, s.job(j, "J16/requested"))
	s.jobs[j].size = 18
	s.daemon("job-downloading", append(all("F8 F6 F4 F10", "F10", "F2 F4 F10"), s.job(j, "J8"))...)

	// Nothing can be stored where a file stands in the way.
	objects := filepath.Join(s.cfg.Store, "objects")
	s.write(objects, "in the way")
	const refused = "F11 F13/storage_error/uncounted"
	s.stays("job-processing", append(all(refused, refused, refused), s.job(j, "identified waiting/storage_error"))...)
	if err := os.Remove(objects); err != nil {
		s.t.Fatal(err)
	}
	// That it is stored cannot be noted, and then the disk forgets a file.
	s.sql(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'the disk is full' using errcode = '53100'; end $$`)
	s.sql(`create trigger refuse before update on record.effect for each row when (new.state = 'done') execute function refuse()`)
	s.stays("job-processing", append(all("F14 F11 F12", "F14 F11 F12", "F14 F11 F12"), s.job(j, "waiting/record_unavailable"))...)
	s.sql(`drop trigger refuse on record.effect`)
	stored := s.found("store/objects/*/*/*/v1/producer/a.txt")
	s.write(stored, "/A.txt")
	s.stays("job-processing", s.path(j, "a.txt", "F16"), s.job(j, "waiting/storage_error"))
	s.write(stored, "/a.txt")
	s.daemon("job-processing", s.path(j, "a.txt", "F14 F11 F12"), s.job(j, "J10"))
}

// sql runs a statement in the database.
func (s *scene) sql(text string) {
	s.t.Helper()
	db, err := s.wired.DB(s.ctx())
	if err == nil {
		_, err = db.Exec(s.ctx(), text)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// profile adds lines to the profile.
func (s *scene) profile(lines string) {
	s.t.Helper()
	s.write(s.profileFile(), strings.Replace(profileOf("attempts: 2, timeout: 2s"), "notify: {from: accession@example.org, to: [depositor@example.org], on: [report]}\n", lines, 1))
}

func (s *scene) write(path, text string) {
	s.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) read(path string) string {
	s.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func (s *scene) rename(from, to string) {
	s.t.Helper()
	if err := os.Rename(from, to); err != nil {
		s.t.Fatal(err)
	}
}

// found returns the one file below the data directory that fits the pattern.
func (s *scene) found(pattern string) string {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.cfg.DataDir, pattern))
	if err != nil || len(paths) != 1 {
		s.t.Fatalf("%s: %v, %v", pattern, paths, err)
	}
	return paths[0]
}
