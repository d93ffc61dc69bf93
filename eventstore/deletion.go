package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// deletionParallel is how many jobs of a deleted batch are removed in parallel.
const deletionParallel = 16

// FinishDeletion removes what is left of a batch that was deleted or cleaned up: each
// of its jobs, and the batch itself last. After an interruption it can be called again;
// a batch that does not exist is no error.
//
// Jobs of a deleted batch get an event each (J23), those of a cleaned one none.
// removeWork removes the working directories of a job, before its nodes: a directory
// whose job is gone would be hard to find. The jobs cannot be claimed any more. One
// that is still locked is left; the error is then [ErrLocked].
func (h *Handler) FinishDeletion(ctx context.Context, id domain.BatchID, m Meta, removeWork func(domain.Job) error) error {
	at, err := h.Live.Batch(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	m.CausationID, m.CommandID, m.Known = domain.Event{Aggregate: id.Aggregate(), Version: at.State.Version}.ID(), "", nil
	d := deletion{h: h, meta: m, batch: id, cleaned: at.State.Cleaned(), removeWork: removeWork}
	jobs, err := h.batchJobs(ctx, id)
	if err != nil {
		return err
	}
	for _, sub := range domain.Subs {
		if err := d.jobs(ctx, jobs[sub]); err != nil {
			return fmt.Errorf("delete the jobs of %s: %w", id, err)
		}
	}
	return crash.Around("eventstore/deletion/remove", func() error { return h.Catalog.Remove(ctx, id) })
}

type deletion struct {
	h          *Handler
	meta       Meta
	batch      domain.BatchID
	cleaned    bool
	removeWork func(domain.Job) error
}

// shownErrors is how many errors of a deletion are shown: each job may have one.
const shownErrors = 3

// jobs deletes jobs, several at once; a job that cannot be deleted does not stop the
// others.
func (d deletion) jobs(ctx context.Context, ids []domain.JobID) error {
	errs := make([]error, len(ids))
	var g errgroup.Group
	g.SetLimit(deletionParallel)
	for i, id := range ids {
		g.Go(func() error {
			if errs[i] = ctx.Err(); errs[i] == nil {
				errs[i] = d.job(ctx, id)
			}
			return nil
		})
	}
	_ = g.Wait() // each job has its own error
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if more := len(errs) - shownErrors; more > 0 {
		errs = append(errs[:shownErrors], fmt.Errorf("and %d more", more))
	}
	return errors.Join(errs...)
}

func (d deletion) job(ctx context.Context, id domain.JobID) error {
	at, err := d.h.Live.Job(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if d.cleaned && errors.Is(err, ErrBroken) {
		// No event is written, so only its id is needed.
		err = nil
		if at.State.ID = id; at.State.Configuration.BatchID == "" {
			at.State.Configuration = domain.Configuration{BatchID: d.batch}
		}
	}
	if err != nil {
		return err
	}
	// A job that is not locked now will not be locked again.
	if err := d.h.unlocked(ctx, &Error{Op: "delete", Aggregate: id.Aggregate(), Err: ErrLocked, Hint: "a worker has it locked; try again later"}); err != nil {
		return err
	}
	if err := crash.Around("eventstore/deletion/remove-work", func() error { return d.removeWork(at.State) }); err != nil {
		return fmt.Errorf("remove the working directory of %s: %w", id, err)
	}
	if d.cleaned {
		return nil
	}
	err = crash.Around("eventstore/deletion/delete-job", func() error {
		_, err := d.h.Job(ctx, id, domain.DeleteJobWithBatch{}, d.meta)
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return nil // another process deleted it
	}
	return err
}
