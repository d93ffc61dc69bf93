package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

func (w *fixture) pass() {
	w.Helper()
	if err := w.r.pass(w.Context()); err != nil {
		w.Errorf("pass: %v", err)
	}
}

func (w *fixture) gone(id domain.BatchID) bool {
	_, err := w.store.Batch(w.Context(), id)
	return errors.Is(err, eventstore.ErrNotFound)
}

// B5 is made up for when whoever emptied the batch could not do it.
func TestMissedReportIsBegun(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	id := w.aJobIn(domain.JobPending)
	batch := w.job(id).Configuration.BatchID
	w.pass()
	if b := w.batch(batch); b.State != domain.BatchProcessing {
		t.Fatalf("reported too early: %s", b.State)
	}
	claim, _, err := w.store.ClaimJob(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	why := domain.Reason{Class: domain.ClassContent, Code: domain.CodeRowFault}
	if _, err := w.h.Job(t.Context(), id, domain.FailJob{Reason: why}, eventstore.Meta{Actor: "daemon/test", Claim: claim}); err != nil {
		t.Fatal(err)
	}
	w.pass()
	if b := w.batch(batch); b.State != domain.BatchReporting {
		t.Errorf("batch is %s", b.State)
	}
	w.pass() // again is nothing
}

// B13: a completed batch goes after its retention time, without events of its jobs.
func TestRetention(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(w *fixture) { w.cfg.Retention = time.Hour })
	job := w.aJobIn(domain.JobCompleted)
	batch := w.job(job).Configuration.BatchID
	w.turn(domain.DaemonBatchReporting)
	w.pass()
	if b := w.batch(batch); b.State != domain.BatchCompleted {
		t.Fatalf("batch is %s", b.State)
	}
	dir := w.job(job).Configuration.WorkingDir
	w.clock.Advance(time.Hour)
	w.pass()
	if !w.gone(batch) || count(w.events(job.Aggregate()), domain.EventJobDeleted) != 0 || count(w.events(batch.Aggregate()), domain.EventBatchCleaned) != 1 {
		t.Errorf("batch gone %v, events %v %v", w.gone(batch), w.events(batch.Aggregate()), w.events(job.Aggregate()))
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the working directory is still there: %v", err)
	}
}

// B14: a failed batch goes after a time of its own, without events of its jobs; not while
// one of them is processing again.
func TestRetentionOfFailedBatches(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(w *fixture) { w.cfg.Retention, w.cfg.FailedRetention = time.Minute, time.Hour })
	job := w.aJobIn(domain.JobDownloading)
	batch := w.job(job).Configuration.BatchID
	operator := eventstore.Meta{Actor: domain.UserActor("ana")}
	do := func(cmd domain.JobCommand) {
		t.Helper()
		if _, err := w.h.Job(t.Context(), job, cmd, operator); err != nil {
			t.Fatal(err)
		}
	}
	why := domain.Reason{Class: domain.ClassCancelled, Code: domain.CodeCancelled, Message: "withdrawn"}
	do(domain.CancelJob{Reason: why})
	w.pass()
	w.turn(domain.DaemonBatchReporting)
	w.clock.Advance(time.Minute)
	w.pass()
	do(domain.RequeueJob{})
	w.clock.Advance(time.Hour)
	w.pass()
	if b := w.batch(batch); b.State != domain.BatchFailed {
		t.Fatalf("batch is %s while its job is %s", b.State, w.job(job).State)
	}
	do(domain.CancelJob{Reason: why})
	w.pass()
	if !w.gone(batch) || count(w.events(job.Aggregate()), domain.EventJobDeleted) != 0 || count(w.events(batch.Aggregate()), domain.EventBatchCleaned) != 1 {
		t.Errorf("batch gone %v, events %v %v", w.gone(batch), w.events(batch.Aggregate()), w.events(job.Aggregate()))
	}
}

// Without a retention time nothing is cleaned up.
func TestNoRetention(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	batch := w.job(w.aJobIn(domain.JobCompleted)).Configuration.BatchID
	w.turn(domain.DaemonBatchReporting)
	w.clock.Advance(1000 * time.Hour)
	w.pass()
	if b := w.batch(batch); b.State != domain.BatchCompleted {
		t.Errorf("batch is %s", b.State)
	}
}

// B13: a job that somebody is at, though its batch is over, is left for the next
// round.
func TestLockedJobIsLeft(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(w *fixture) { w.cfg.Retention = time.Hour })
	job := w.aJobIn(domain.JobCompleted)
	batch, dir := w.job(job).Configuration.BatchID, w.job(job).Configuration.WorkingDir
	w.turn(domain.DaemonBatchReporting)
	other := w.mem.Session()
	claim, _, err := other.ClaimJob(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Hour)
	_, there := os.Stat(dir)
	if err := w.r.pass(t.Context()); !errors.Is(err, eventstore.ErrLocked) || w.gone(batch) {
		t.Fatalf("with a locked job: %v, gone %v", err, w.gone(batch))
	}
	if _, err := os.Stat(dir); err != nil || there != nil {
		t.Errorf("the directory of a locked job: %v, %v before", err, there)
	}
	if err := other.Release(t.Context(), claim, 0); err != nil {
		t.Fatal(err)
	}
	w.pass()
	if !w.gone(batch) {
		t.Errorf("batch is still there: %+v", w.batch(batch))
	}
}

// cutAt is a context that ends when it was asked n times whether it has.
type cutAt struct {
	context.Context
	left *atomic.Int64
}

func (c cutAt) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return c.Context.Err()
}

// B11, J23: a deletion that ends anywhere is finished by the janitor, each job with
// one event and nothing left in the working directory.
func TestDeletionKilledAnywhere(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	for n := int64(1); ; n++ {
		w.web.serve("/f.checkm", manifestOf("mrt-single-file-batch-manifest", "gopher://files.test/x", "gopher://files.test/y", "gopher://files.test/z"))
		batch := w.submit(domain.TypeFileBatchManifest, "/f.checkm")
		w.walk(domain.DaemonBatchPending, domain.DaemonJobPending, domain.DaemonJobPending, domain.DaemonJobPending, domain.DaemonBatchReporting)
		first := w.batch(batch).Listing.FirstJID
		for i := range 3 {
			if err := os.MkdirAll(filepath.Join(w.job(first.Plus(i)).Configuration.WorkingDir, "claim", "files"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		w.doBatch(batch, domain.DeleteBatch{})
		left := &atomic.Int64{}
		left.Store(n)
		killed := w.r.finishDeletion(cutAt{t.Context(), left}, batch, eventstore.Meta{Actor: janitorActor})
		w.pass()
		if !w.gone(batch) {
			t.Fatalf("killed at step %d (%v) the batch is still there", n, killed)
		}
		for i := range 3 {
			if got := count(w.events(first.Plus(i).Aggregate()), domain.EventJobDeleted); got != 1 {
				t.Errorf("killed at step %d: job %d was deleted by %d events", n, i, got)
			}
		}
		if found, err := w.cfg.Work.List(); err != nil || len(found) != 0 {
			t.Fatalf("killed at step %d the working directory holds %v, %v", n, found, err)
		}
		if killed == nil {
			if n < 10 {
				t.Errorf("only %d steps were cut", n)
			}
			return
		}
	}
}

// A working directory whose job is gone in two rounds is removed; others stay.
// Shows: P8
func TestStrayDirectories(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	id := w.aJobIn(domain.JobProcessing)
	batch := w.job(id).Configuration.BatchID
	// A profile's own place, in which nothing has been done since the start.
	apart := w.profile("apart")
	apart.WorkingDir = t.TempDir()
	w.set["apart"] = apart
	elsewhere := filepath.Join(apart.WorkingDir, string(batch), string(domain.NewJobID(78)))
	stray, other := w.cfg.Work.Path(batch, domain.NewJobID(77)), filepath.Join(filepath.Dir(w.cfg.Work.Path(batch, id)), "notes")
	for _, dir := range []string{stray, other, elsewhere} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	there := func(dir string) bool { _, err := os.Stat(dir); return err == nil }
	seen := w.r.cleanUp(t.Context(), nil)
	if !there(stray) {
		t.Fatal("removed in the first round")
	}
	w.r.cleanUp(t.Context(), seen)
	if there(elsewhere) {
		t.Error("the stray directory in a profile's own place is still there")
	}
	if there(stray) || !there(other) || !there(w.job(id).Configuration.WorkingDir) {
		t.Errorf("stray %v, other %v, job's %v", there(stray), there(other), there(w.job(id).Configuration.WorkingDir))
	}
}

// The working files of a failed job go when they were kept long enough, and only those.
// Shows: P8
func TestFilesOfFailedJobsGo(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords, func(w *fixture) { w.cfg.FilesRetention = time.Hour })
	w.web.objectManifest("/o.checkm", map[string]string{"good.txt": "good", "bad.txt": "bad"})
	w.web.serve("/bad.txt", "BAD")
	failed := w.jobIn(domain.JobDownloading, domain.TypeObjectManifest, "/o.checkm")
	w.turn(domain.DaemonJobDownloading)
	w.wantJob(failed, domain.JobFailed, domain.CodeDigestMismatch)
	works := w.aJobIn(domain.JobProcessing)
	dir := w.job(failed).Configuration.WorkingDir
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o755); err != nil {
		t.Fatal(err)
	}
	there := func(dir string) bool { _, err := os.Stat(dir); return err == nil }
	w.clock.Advance(time.Hour - time.Second)
	if w.r.cleanUp(t.Context(), nil); !there(dir) {
		t.Fatal("removed before their time")
	}
	w.clock.Advance(time.Minute)
	w.r.cleanUp(t.Context(), nil)
	if there(dir) || !there(w.job(works).Configuration.WorkingDir) {
		t.Errorf("files of the failed job %v, of one that works %v", there(dir), there(w.job(works).Configuration.WorkingDir))
	}
	// A requeue fetches them again.
	w.web.serve("/bad.txt", "bad")
	w.requeue(failed)
	w.turn(domain.DaemonJobDownloading)
	w.wantJob(failed, domain.JobProcessing, "")
}
