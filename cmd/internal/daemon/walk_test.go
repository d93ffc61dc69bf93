package daemon

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// run runs all daemons until the batch is at rest and gives it.
func (w *fixture) run(id domain.BatchID, want domain.BatchState) domain.Batch {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
	defer cancel()
	done := make(chan error, 1)
	stop, end := context.WithCancel(ctx)
	go func() { done <- w.r.Run(stop) }()
	c, at, err := w.mem.Session().NextBatch(ctx, want, nil)
	if err != nil {
		w.Errorf("%s did not become %s, it is %+v: %v\n%s", id, want, w.batch(id), err, w.log)
	} else if at.State.ID != id {
		w.Errorf("%s became %s first", at.State.ID, want)
	}
	_ = c
	end()
	if err := <-done; err != nil {
		w.Errorf("run: %v", err)
	}
	return w.batch(id)
}

// Each kind of deposit walks through all daemons, by itself, handed over and not.
func TestWalk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind    domain.SubmissionType
		payload func(w *web) string
		jobs    int
		files   int // producer's, of all objects
	}{
		{domain.TypeFile, func(w *web) string { w.serve("/tide.csv", "1,2\n"); return "/tide.csv" }, 1, 1},
		{domain.TypeContainer, func(w *web) string { w.serve("/tide.zip", zipOf("tide.csv", "1,2\n")); return "/tide.zip" }, 1, 1},
		{domain.TypeObjectManifest, func(w *web) string {
			w.objectManifest("/o.checkm", map[string]string{"data/a.csv": "a", "data/b.csv": "bb", "readme.txt": ""})
			return "/o.checkm"
		}, 1, 3},
		{domain.TypeBatchManifest, func(w *web) string {
			w.objectManifest("/o1.checkm", map[string]string{"a": "a"})
			w.objectManifest("/o2.checkm", map[string]string{"b": "b", "c": "c"})
			w.serve("/b.checkm", manifestOf("mrt-batch-manifest", w.URL+"/o1.checkm", w.URL+"/o2.checkm"))
			return "/b.checkm"
		}, 2, 3},
		{domain.TypeFileBatchManifest, func(w *web) string {
			w.serve("/x.txt", "x")
			w.serve("/f.checkm", manifestOf("mrt-single-file-batch-manifest", w.URL+"/x.txt | | | | | | | loc1 | Ana | Tides | 1923"))
			return "/f.checkm"
		}, 1, 1},
		{domain.TypeContainerBatchManifest, func(w *web) string {
			w.serve("/y.zip", zipOf("y.csv", "1,2\n"))
			w.serve("/c.checkm", manifestOf("mrt-container-batch-manifest", w.URL+"/y.zip"))
			return "/c.checkm"
		}, 1, 1},
	} {
		walk := func(t *testing.T, handOver bool) {
			t.Parallel()
			w := newFixture(t, func(w *fixture) { w.cfg.HandOver = handOver })
			id := w.submit(c.kind, c.payload(w.web))
			b := w.run(id, domain.BatchCompleted)
			if len(b.Report.SuccessfulJobs) != c.jobs || len(b.Report.FailedJobs) != 0 {
				t.Errorf("report %+v", b.Report)
			}
			if r := w.report(id); r.Listed != c.jobs || r.Completed != c.jobs || r.Jobs[0].Primary == "" || r.Jobs[0].Name == "" {
				t.Errorf("whole report %+v", r)
			}
			files, objects := 0, 0
			for _, j := range w.report(id).Jobs {
				have, err := w.records.RecordedJobs(t.Context(), []string{string(j.ID)})
				if err != nil {
					t.Fatal(err)
				}
				objects += len(have)
				files += int(have[j.ID]) - 2 // the two descriptions
				if _, err := w.cfg.Objects.VerifyVersion(t.Context(), j.Primary, 1); err != nil {
					t.Error(err)
				}
			}
			if objects != c.jobs || files != c.files {
				t.Errorf("%d objects with %d files in the inventory, want %d with %d", objects, files, c.jobs, c.files)
			}
		}
		t.Run(string(c.kind), func(t *testing.T) { walk(t, true) })
		t.Run(string(c.kind)+" claimed anew", func(t *testing.T) { walk(t, false) })
	}
}

// J20: a completed job leaves its queue, and its working directory is gone.
// Shows: P8
func TestCompletedJobIsCleaned(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.web.serve("/tide.csv", "1,2\n")
	id := w.jobIn(domain.JobCompleted, domain.TypeFile, "/tide.csv")
	dir := w.job(id).Configuration.WorkingDir
	if _, err := os.Stat(filepath.Join(dir, "files", "tide.csv")); err != nil {
		t.Fatal(err)
	}
	w.turn(domain.DaemonJanitor)
	if j := w.job(id); !j.Cleaned || j.QueueEntry() != "" || j.State != domain.JobCompleted {
		t.Errorf("job %+v", j)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the working directory is still there: %v", err)
	}
}
