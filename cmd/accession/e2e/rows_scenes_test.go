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
	oracle "github.com/accession-ingest/accession/internal/testkit/model"
)

const firstJob = domain.JobID("jid0000000001")

// reported says what the next report must tell.
func (s *scene) reported(id domain.BatchID, row string, ok, failed, newly, left []domain.JobID) {
	e := oracle.BatchRows[row]
	lists := map[string]any{"successful": len(ok), "failed": len(failed), "successful_jobs": notNil(ok), "failed_jobs": notNil(failed)}
	if len(newly) > 0 {
		lists["newly_successful_jobs"] = newly
	}
	if len(left) > 0 {
		lists["unresolved_jobs"] = left
	}
	ids := func(list []domain.JobID) string { return strings.Join(texts(list), ",") }
	b := s.batches[id]
	b.report = jsonText(lists)
	b.reports = append(b.reports, strings.Join([]string{e.Report, e.Status, "ok=" + ids(ok), "failed=" + ids(failed), "new=" + ids(newly), "left=" + ids(left)}, " "))
}

func notNil(list []domain.JobID) []domain.JobID {
	if list == nil {
		return []domain.JobID{}
	}
	return list
}

// walks: two jobs of a batch come to their end, through every hold.
func walks(s *scene) {
	base := webServer(s.t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/batch.checkm" {
			_, _ = io.WriteString(rw, batchOfFiles(r.Host, "a.txt", "bb.txt"))
			return
		}
		_, _ = io.WriteString(rw, r.URL.Path)
	}))
	s.profile("")
	s.serveInProcess(run.RoleRelay, run.RoleProjector)
	s.hold()
	id := s.deposit(app.Deposit{Payload: base + "/batch.checkm", Type: domain.TypeFileBatchManifest, Title: "two"}, "batch.checkm")
	s.daemon("batch-pending", s.batch(id, "B2/collection_held"))
	s.open()
	s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.ReleaseBatch(ctx, id, "signed") }, s.batch(id, "B4/requested"))
	jobs := s.expects(id, firstJob, map[string]any{"payload_url": base + "/a.txt", "file_name": "a.txt", "title": "two"},
		map[string]any{"payload_url": base + "/bb.txt", "file_name": "bb.txt", "title": "two"})
	a, b := jobs[0], jobs[1]
	s.daemon("batch-pending", s.batch(id, "listed B3"), s.job(a, "J1"), s.job(b, "J1"))

	release := func(j domain.JobID) {
		s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.ReleaseJob(ctx, j, "cleared") }, s.job(j, "J3/requested"))
	}
	s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.HoldJob(ctx, a, "rights") }, s.job(a, "J2/held_by_operator"))
	release(a)
	s.hold()
	s.daemon("job-pending", s.job(a, "J2/collection_held"), s.job(b, "J2/collection_held"))
	s.open()
	release(a)
	release(b)
	s.daemon("job-pending", s.job(a, "J4"), s.job(b, "J4"))
	s.jobs[a].size, s.jobs[b].size = 6, 7
	s.daemon("job-estimating", s.job(a, "J6"), s.job(b, "J6"), s.path(a, "a.txt", "F1"), s.path(b, "bb.txt", "F1"))
	s.daemon("job-provisioning", s.job(a, "J7"), s.job(b, "J7"))
	s.daemon("job-downloading", s.job(a, "J8"), s.job(b, "J8"), s.path(a, "a.txt", "F2 F4 F10"), s.path(b, "bb.txt", "F2 F4 F10"))
	s.daemon("job-processing", s.job(a, "identified J10"), s.job(b, "identified J10"), s.path(a, "a.txt", "F11 F12"), s.path(b, "bb.txt", "F11 F12"))
	s.daemon("job-recording", s.job(a, "J12"), s.job(b, "J12"))
	s.daemon("job-notify", s.job(a, "J14"), s.job(b, "J14"), s.batch(id, "B5"))
	s.reported(id, "B6", jobs, nil, nil, nil)
	s.daemon("batch-reporting", s.batch(id, "B6"))
	s.daemon("janitor", s.job(a, "J20"), s.job(b, "J20"))
	if _, err := os.Stat(filepath.Join(s.cfg.WorkDir, string(id))); !os.IsNotExist(err) {
		s.t.Errorf("J20 leaves the working directory: %v", err)
	}
	// The jobs of a cleaned batch go without events.
	s.jobs[a].gone, s.jobs[b].gone = true, true
	stop := s.only("janitor", "retention", "1ms")
	s.logged("daemon/janitor", []move{s.batch(id, "B13/cleaned")})
	s.vanishes(id)
	s.left([]move{s.batch(id, "B13/cleaned")})
	stop()
}

// vanishes waits until a batch has no node any more.
func (s *scene) vanishes(id domain.BatchID) {
	s.t.Helper()
	for s.dump()["/batches/"+string(id)+"/status"] != "" {
		if s.t.Context().Err() != nil {
			s.t.Fatalf("%s does not go", id)
		}
	}
}

// failsEverywhere: a job fails in each of its steps, and is sent back each time.
func failsEverywhere(s *scene) {
	var file, callback atomic.Int32 // the status to answer with
	file.Store(http.StatusNotFound)
	callback.Store(http.StatusBadRequest)
	base := webServer(s.t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/callback":
			rw.WriteHeader(int(callback.Load()))
		case file.Load() == http.StatusOK:
			_, _ = io.WriteString(rw, "found")
		default:
			rw.WriteHeader(int(file.Load()))
			file.CompareAndSwap(http.StatusServiceUnavailable, http.StatusOK)
		}
	}))
	s.profile("callback: {url: " + base + "/callback}\n")
	s.serveInProcess(run.RoleRelay, run.RoleProjector)
	id := s.deposit(app.Deposit{Payload: base + "/a.txt", Type: domain.TypeFile, Title: "one"}, "a.txt")
	j := s.expects(id, firstJob, map[string]any{"payload_url": base + "/a.txt", "file_name": "a.txt", "title": "one"})[0]
	requeue := func(row string) {
		s.t.Helper()
		s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.Requeue(ctx, j, "mended") }, s.job(j, row+"/requested"))
	}
	s.daemon("batch-pending", s.batch(id, "listed B3"), s.job(j, "J1"))
	s.daemon("job-pending", s.job(j, "J4"))
	s.daemon("job-estimating", s.job(j, "J6"), s.path(j, "a.txt", "F1"))
	s.daemon("job-provisioning", s.job(j, "J7"))
	s.daemon("job-downloading", s.job(j, "J9/http_status"), s.path(j, "a.txt", "F2 F5 F7"), s.batch(id, "B5"))
	s.reported(id, "B7", nil, []domain.JobID{j}, nil, nil)
	s.daemon("batch-reporting", s.batch(id, "B7"))

	requeue("J16")
	file.Store(http.StatusServiceUnavailable) // once
	s.jobs[j].size = 5
	s.daemon("job-downloading", s.job(j, "waiting/http_status J8"), s.path(j, "a.txt", "O1/requeued F2 F5 F6 F4 F10"))

	files := filepath.Join(s.cfg.WorkDir, string(id), string(j), "files")
	s.rename(files, files+".away")
	s.daemon("job-processing", s.job(j, "identified J11/working_files_missing"), s.path(j, "a.txt", "F11 F13/working_files_missing F15"))
	s.rename(files+".away", files)
	requeue("J17")
	s.daemon("job-processing", s.job(j, "J10"), s.path(j, "a.txt", "O2/requeued F11 F12"))

	manifest := s.found("store/objects/*/*/*/v1/manifest.json")
	s.rename(manifest, manifest+".away")
	s.write(manifest, strings.Replace(s.read(manifest+".away"), string(j), "jid0000000009", 1))
	s.daemon("job-recording", s.job(j, "J13/storage_error"))
	s.rename(manifest+".away", manifest)
	requeue("J18")
	s.daemon("job-recording", s.job(j, "J12"))

	s.daemon("job-notify", s.job(j, "J15/http_status"))
	callback.Store(http.StatusNoContent)
	requeue("J19")
	s.daemon("job-notify", s.job(j, "J14"))
	s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.RequestUpdate(ctx, id, "mended") }, s.batch(id, "B8/requested"))
	s.reported(id, "B9", []domain.JobID{j}, nil, []domain.JobID{j}, nil)
	s.daemon("batch-update-reporting", s.batch(id, "B9"))
	s.jobs[j].gone = true
	s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.CleanBatch(ctx, id, "space is short") }, s.batch(id, "B13/cleaned"))
}
