package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

var janitorActor = domain.DaemonActor(domain.DaemonJanitor)

// jobClean removes a completed job from its queue (J20), after its working directory: a
// directory whose job has left the queue would never be found again.
func (s *steps) jobClean(ctx context.Context, t *JobTask) Outcome {
	if err := crash.Around("daemon/janitor/remove-directory", func() error { return s.removeWork(t.Job) }); err != nil {
		return release(fmt.Errorf("remove the working directory: %w", err))
	}
	return nextJob(domain.CleanJob{})
}

// removeWork removes what the job has in its working directory. Without its profile
// every working directory that was opened is searched.
func (s *steps) removeWork(j domain.Job) error {
	batch := j.Configuration.BatchID
	p, err := s.cfg.Profiles.Get(j.Configuration.ProfileName)
	if err != nil && !profile.Missing(err) {
		return err
	}
	if err == nil {
		work, err := s.Work(p)
		if err != nil {
			return err
		}
		return work.Remove(batch, j.ID)
	}
	var errs []error
	for _, w := range s.AllWork() {
		errs = append(errs, w.Remove(batch, j.ID))
	}
	return errors.Join(errs...)
}

// janitor makes its rounds until ctx ends, at its start and then after each interval.
func (r *Runner) janitor(ctx context.Context) {
	for stray := map[store.JobDir]bool{}; ctx.Err() == nil; pause(ctx, r.cfg.JanitorInterval) {
		if err := r.pass(ctx); err != nil && ctx.Err() == nil {
			r.cfg.Log.Warn("the janitor could not finish its round; it goes on with the next one", "error", err)
		}
		stray = r.cleanUp(ctx, stray)
	}
}

// pass checks every batch once: reports that no worker began (B5), batches whose
// jobs rest, ended batches
// whose time is over (B13, B14), deletions that were interrupted.
func (r *Runner) pass(ctx context.Context) error {
	meta := eventstore.Meta{Actor: janitorActor, TraceParent: eventstore.NewTrace().Parent()}
	ids, err := r.cfg.Handler.Catalog.Batches(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		is, err := r.cfg.Handler.Live.Batch(ctx, id)
		switch {
		case errors.Is(err, eventstore.ErrNotFound):
		case err != nil:
			errs = append(errs, err)
		case is.State.State == domain.BatchProcessing:
			r.tryReport(ctx, id, meta)
			errs = append(errs, r.resting.Free(ctx, is.State, meta))
		case is.State.State == domain.BatchCompleted:
			errs = append(errs, r.retire(ctx, is.State, r.cfg.Retention, meta))
		case is.State.State == domain.BatchFailed:
			errs = append(errs, r.retire(ctx, is.State, r.cfg.FailedRetention, meta))
		case is.State.State == domain.BatchDeleted:
			errs = append(errs, r.finishDeletion(ctx, id, meta))
		}
	}
	return errors.Join(errs...)
}

// tryReport moves the batch on to its report if none of its jobs is processing any more
// (B5). It is no error if another process does so first, or if it is too early.
func (r *Runner) tryReport(ctx context.Context, id domain.BatchID, meta eventstore.Meta) {
	refs, err := r.cfg.Handler.Live.Refs(ctx, id)
	var is eventstore.Loaded[domain.Batch]
	if err == nil && refs.Processing == 0 {
		is, err = r.cfg.Handler.Live.Batch(ctx, id)
	}
	if err == nil && is.State.State == domain.BatchProcessing {
		_, err = r.doBatch(ctx, id, domain.BeginReport{}, meta)
	}
	if err != nil && !isRefused(err) && !errors.Is(err, eventstore.ErrConflict) {
		r.cfg.Log.Warn("cannot check whether the batch is ready for its report; the janitor checks again", "batch", id, "trace", domain.TraceID(meta.TraceParent), "error", err)
	}
}

// doBatch writes a command without a claim.
func (r *Runner) doBatch(ctx context.Context, id domain.BatchID, cmd domain.BatchCommand, meta eventstore.Meta) (domain.Batch, error) {
	res, err := commit(ctx, func(ctx context.Context) (eventstore.Result[domain.Batch], error) {
		return r.cfg.Handler.Batch(ctx, id, cmd, meta)
	})
	return res.State, err
}

// retire cleans a batch up when its retention time is over (B13, B14), 0 = it is kept. One
// that failed stays while a job of it is processing again.
func (r *Runner) retire(ctx context.Context, b domain.Batch, retention time.Duration, meta eventstore.Meta) error {
	if retention == 0 || r.cfg.Handler.Clock().Sub(b.Modified.Time) < retention {
		return nil
	}
	b, err := r.doBatch(ctx, b.ID, domain.CleanBatch{}, meta)
	switch {
	case isRefused(err):
		return nil
	case err != nil:
		return err
	}
	r.cfg.Log.Info("cleaned up after its retention time", "batch", b.ID, "trace", domain.TraceID(meta.TraceParent))
	return r.finishDeletion(ctx, b.ID, meta)
}

// finishDeletion removes what is left of a deleted batch; a job that is locked at
// the moment is left for the next round.
func (r *Runner) finishDeletion(ctx context.Context, id domain.BatchID, meta eventstore.Meta) error {
	return r.cfg.Handler.FinishDeletion(ctx, id, meta, r.steps.removeWork)
}

// cleanUp removes working directories of jobs that failed long ago or that are not there
// any more, in the working directories of all profiles. A job must be missing in two
// passes in a row, because it may be too new for this ZooKeeper server.
func (r *Runner) cleanUp(ctx context.Context, before map[store.JobDir]bool) map[store.JobDir]bool {
	stray := map[store.JobDir]bool{}
	for _, name := range r.cfg.Profiles.Names() {
		p, err := r.cfg.Profiles.Get(name)
		if err == nil {
			_, err = r.steps.Work(p)
		}
		if err != nil {
			r.cfg.Log.Warn("cannot open the working directory of a profile", "profile", name, "error", err)
		}
	}
	for _, w := range r.steps.AllWork() {
		found, err := w.List()
		if err != nil {
			r.cfg.Log.Warn("cannot list the working directory", "error", err)
		}
		for _, dir := range found {
			is, err := r.cfg.Handler.Live.Job(ctx, dir.Job)
			old := err == nil && r.failedLongAgo(is.State)
			gone := errors.Is(err, eventstore.ErrNotFound) || err == nil && is.State.Cleaned
			switch {
			case !old && !gone:
				continue
			case gone && !before[dir]:
				stray[dir] = true
				continue
			}
			if err := w.Remove(dir.Batch, dir.Job); err != nil {
				r.cfg.Log.Warn("cannot remove a working directory", "job", dir.Job, "error", err)
			} else if old {
				r.cfg.Log.Info("working files of a failed job removed", "job", dir.Job, "batch", dir.Batch)
			}
		}
	}
	return stray
}

// failedLongAgo reports whether the working files of a job are not kept any longer. If
// the job is requeued later, it fetches them again where its state allows that, else it
// fails and says that they are gone.
func (r *Runner) failedLongAgo(j domain.Job) bool {
	return j.State == domain.JobFailed && r.cfg.FilesRetention > 0 && r.cfg.Handler.Clock().Sub(j.Modified.Time) >= r.cfg.FilesRetention
}
