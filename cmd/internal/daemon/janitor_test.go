package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

func (w *world) pass() {
	w.Helper()
	if err := w.r.pass(w.Context()); err != nil {
		w.Errorf("pass: %v", err)
	}
}

func (w *world) gone(id domain.BatchID) bool {
	_, err := w.store.Batch(w.Context(), id)
	return errors.Is(err, eventstore.ErrNotFound)
}

// B5 is made up for when whoever emptied the batch could not do it.
func TestMissedReportIsBegun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, noRecords)
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
	if _, err := w.h.Job(t.Context(), id, domain.FailJob{Reason: why}, eventstore.Order{Actor: "daemon/test", Claim: claim}); err != nil {
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
	w := newWorld(t, func(w *world) { w.cfg.Retention = time.Hour })
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

// Without a retention time nothing is cleaned up.
func TestNoRetention(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	batch := w.job(w.aJobIn(domain.JobCompleted)).Configuration.BatchID
	w.turn(domain.DaemonBatchReporting)
	w.clock.Advance(1000 * time.Hour)
	w.pass()
	if b := w.batch(batch); b.State != domain.BatchCompleted {
		t.Errorf("batch is %s", b.State)
	}
}

// B11, J23: a deletion that was interrupted goes on, and leaves a locked job for
// the next round.
func TestDeletionIsFinished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	batch, first := w.mixed()
	w.turn(domain.DaemonBatchReporting)
	w.doBatch(batch, domain.DeleteBatch{})
	dir := w.job(first.Plus(1)).Configuration.WorkingDir
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o755); err != nil {
		t.Fatal(err)
	}
	other := w.mem.Session()
	claim, _, err := other.ClaimJob(t.Context(), first.Plus(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.r.pass(t.Context()); !errors.Is(err, eventstore.ErrLocked) || w.gone(batch) {
		t.Fatalf("with a locked job: %v, gone %v", err, w.gone(batch))
	}
	if err := other.Release(t.Context(), claim, 0); err != nil {
		t.Fatal(err)
	}
	w.pass()
	if !w.gone(batch) {
		t.Fatalf("batch is still there: %+v", w.batch(batch))
	}
	for i := range 3 {
		if n := count(w.events(first.Plus(i).Aggregate()), domain.EventJobDeleted); n != 1 {
			t.Errorf("job %d was deleted by %d events", i, n)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the working directory is still there: %v", err)
	}
}

// A working directory whose job is gone in two rounds is removed; others stay.
func TestStrayDirectories(t *testing.T) {
	t.Parallel()
	w := newWorld(t, noRecords)
	id := w.aJobIn(domain.JobProcessing)
	batch := w.job(id).Configuration.BatchID
	stray, other := w.cfg.Work.Path(batch, domain.NewJobID(77)), filepath.Join(filepath.Dir(w.cfg.Work.Path(batch, id)), "notes")
	for _, dir := range []string{stray, other} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	there := func(dir string) bool { _, err := os.Stat(dir); return err == nil }
	seen := w.r.sweep(t.Context(), nil)
	if !there(stray) {
		t.Fatal("removed in the first round")
	}
	w.r.sweep(t.Context(), seen)
	if there(stray) || !there(other) || !there(w.job(id).Configuration.WorkingDir) {
		t.Errorf("stray %v, other %v, job's %v", there(stray), there(other), there(w.job(id).Configuration.WorkingDir))
	}
}
