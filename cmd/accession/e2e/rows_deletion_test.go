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
	"github.com/accession-ingest/accession/eventstore"
)

// leaves: jobs go with their batch from every state in which those of a failed batch
// can be, and a batch whose last job went without anybody seeing to its report gets
// it from the janitor.
func leaves(s *scene) {
	var refuse atomic.Bool // the callbacks of late and notified
	refuse.Store(true)
	var late, notified domain.JobID
	base := webServer(s.t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/batch.checkm":
			_, _ = io.WriteString(rw, batchOfFiles(r.Host, "cleaned.txt", "late.txt", "failed.txt", "fetched.txt", "processed.txt", "recorded.txt", "notified.txt"))
		case "/callback":
			body, _ := io.ReadAll(r.Body)
			if refuse.Load() && (strings.Contains(string(body), string(late)) || strings.Contains(string(body), string(notified))) {
				rw.WriteHeader(http.StatusBadRequest)
			}
		case "/failed.txt", "/fetched.txt":
			http.Error(rw, "lost", http.StatusNotFound)
		default:
			_, _ = io.WriteString(rw, "text")
		}
	}))
	s.profile("callback: {url: " + base + "/callback}\n")
	s.serveInProcess(run.RoleRelay, run.RoleProjector)
	id := s.deposit(app.Deposit{Payload: base + "/batch.checkm", Type: domain.TypeFileBatchManifest}, "batch.checkm")
	names := []string{"cleaned.txt", "late.txt", "failed.txt", "fetched.txt", "processed.txt", "recorded.txt", "notified.txt"}
	var rows []map[string]any
	for _, name := range names {
		rows = append(rows, map[string]any{"payload_url": base + "/" + name, "file_name": name})
	}
	jobs := s.expects(id, firstJob, rows...)
	cleaned, failed, fetched, processed, recorded := jobs[0], jobs[2], jobs[3], jobs[4], jobs[5]
	late, notified = jobs[1], jobs[6]
	good := []domain.JobID{cleaned, late, processed, recorded, notified}
	lost := []domain.JobID{failed, fetched}
	path := map[domain.JobID]string{}
	for i, j := range jobs {
		path[j] = names[i]
	}
	// all returns the moves of some jobs, and of the file of each.
	all := func(some []domain.JobID, ofJob, ofFile string) (moves []move) {
		for _, j := range some {
			moves = append(moves, s.job(j, ofJob))
			if ofFile != "" {
				moves = append(moves, s.path(j, path[j], ofFile))
			}
		}
		return moves
	}
	s.daemon("batch-pending", append(all(jobs, "J1", ""), s.batch(id, "listed B3"))...)
	s.daemon("job-pending", all(jobs, "J4", "")...)
	for _, j := range good {
		s.jobs[j].size = 4
	}
	s.daemon("job-estimating", all(jobs, "J6", "F1")...)
	s.daemon("job-provisioning", all(jobs, "J7", "")...)
	s.daemon("job-downloading", append(all(good, "J8", "F2 F4 F10"), all(lost, "J9/http_status", "F2 F5 F7")...)...)
	files := filepath.Join(s.cfg.WorkDir, string(id), string(processed), "files")
	s.rename(files, files+".away")
	stored := []domain.JobID{cleaned, late, recorded, notified}
	s.daemon("job-processing", append(all(stored, "identified J10", "F11 F12"),
		all([]domain.JobID{processed}, "identified J11/working_files_missing", "F11 F13/working_files_missing F15")...)...)
	s.swaps(recorded)
	s.daemon("job-recording", append(all([]domain.JobID{cleaned, late, notified}, "J12", ""), s.job(recorded, "J13/storage_error"))...)
	s.daemon("job-notify", s.job(cleaned, "J14"), s.job(late, "J15/http_status"), s.job(notified, "J15/http_status"), s.batch(id, "B5"))
	s.daemon("janitor", s.job(cleaned, "J20"))
	s.reported(id, "B7", []domain.JobID{cleaned}, []domain.JobID{late, failed, fetched, processed, recorded, notified}, nil, nil)
	s.daemon("batch-reporting", s.batch(id, "B7"))

	requeue := func(j domain.JobID, row string) {
		s.t.Helper()
		s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.Requeue(ctx, j, "mended") }, s.job(j, row+"/requested"))
	}
	requeue(late, "J19")
	refuse.Store(false)
	s.daemon("job-notify", s.job(late, "J14"))
	requeue(fetched, "J16")
	requeue(processed, "J17")
	requeue(recorded, "J18")
	requeue(notified, "J19")
	s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.DeleteBatch(ctx, id, "withdrawn") },
		append([]move{s.batch(id, "B11/requested")}, all(jobs, "J23", "")...)...)

	s.missed(base)
}

// swaps makes the stored object of a job look like another's.
func (s *scene) swaps(j domain.JobID) {
	s.t.Helper()
	manifests, err := filepath.Glob(filepath.Join(s.cfg.Store, "objects/*/*/*/v1/manifest.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, m := range manifests {
		if text := s.read(m); strings.Contains(text, string(j)) {
			if err := os.Remove(m); err != nil {
				s.t.Fatal(err)
			}
			s.write(m, strings.Replace(text, string(j), "jid0000000099", 1))
			return
		}
	}
	s.t.Fatalf("no object of %s is among %v", j, manifests)
}

// missed: an operator's command ends right after its first write, which deleted the
// last job of a batch.
func (s *scene) missed(base string) {
	s.t.Helper()
	id := s.deposit(app.Deposit{Payload: base + "/one.txt", Type: domain.TypeFile}, "one.txt")
	j := s.expects(id, "jid0000000008", map[string]any{"payload_url": base + "/one.txt", "file_name": "one.txt"})[0]
	s.daemon("batch-pending", s.batch(id, "listed B3"), s.job(j, "J1"))
	s.operator(func(ctx context.Context) (app.Changed, error) { return s.app.HoldJob(ctx, j, "rights") }, s.job(j, "J2/held_by_operator"))
	handler, err := s.wired.Handler(s.ctx())
	if err == nil {
		_, err = handler.Job(s.ctx(), j, domain.DeleteJob{}, eventstore.Meta{Actor: "user/test"})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.came("user/test", s.job(j, "J22"))
	s.daemon("janitor", s.batch(id, "B5"))
	s.reported(id, "B6", nil, nil, nil, nil)
	s.daemon("batch-reporting", s.batch(id, "B6"))
}
