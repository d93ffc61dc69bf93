package eventstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// deletionParallel is how many jobs of a deleted batch go at once.
const deletionParallel = 16

// FinishDeletion removes what is left of a batch that was deleted or cleaned up:
// each of its jobs, and the batch itself last. Interrupted anywhere it is called
// again and goes on; a batch that is gone is no error.
//
// Jobs of a deleted batch get an event each (J23), those of a cleaned one none.
// removeWork removes what a job has in working directories, before its nodes go: a
// directory whose job is gone would be hard to find. Nobody can claim the jobs any
// more. One that is still locked is left; the error is then [ErrLocked].
func (h *Handler) FinishDeletion(ctx context.Context, id domain.BatchID, o Meta, removeWork func(domain.Job) error) error {
	at, err := h.Live.Batch(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	crash.Point("eventstore/deletion/begun")
	o.CausationID = domain.Event{Aggregate: id.Aggregate(), Version: at.State.Version}.ID()
	d := deletion{h: h, o: o, batch: id, cleaned: at.State.Cleaned(), removeWork: removeWork}
	jobs, err := h.jobsOf(ctx, id)
	if err != nil {
		return err
	}
	for _, sub := range domain.Subs {
		if err := d.jobs(ctx, jobs[sub]); err != nil {
			return fmt.Errorf("delete the jobs of %s: %w", id, err)
		}
	}
	crash.Point("eventstore/deletion/before-remove")
	return h.Catalog.Remove(ctx, id)
}

type deletion struct {
	h          *Handler
	o          Meta
	batch      domain.BatchID
	cleaned    bool
	removeWork func(domain.Job) error
}

// toldErrors is how many errors of a deletion are told: each job may have one.
const toldErrors = 3

// few joins the first errors, and counts the others.
func few(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if more := len(errs) - toldErrors; more > 0 {
		errs = append(errs[:toldErrors], fmt.Errorf("and %d more", more))
	}
	return errors.Join(errs...)
}

// jobs deletes jobs, several at once; that one cannot go does not stop the others.
func (d deletion) jobs(ctx context.Context, ids []domain.JobID) error {
	errs := make([]error, len(ids))
	places := make(chan struct{}, deletionParallel)
	var all sync.WaitGroup
	for i, id := range ids {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			if errs[i] = ctx.Err(); errs[i] == nil {
				errs[i] = d.job(ctx, id)
			}
		})
	}
	all.Wait()
	return few(errs)
}

func (d deletion) job(ctx context.Context, id domain.JobID) error {
	at, err := d.h.Live.Job(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if d.cleaned && errors.Is(err, ErrBroken) {
		// No event is written of it, so that nothing of it need be known but its name.
		err = nil
		if at.State.ID = id; at.State.Configuration.BatchID == "" {
			at.State.Configuration = domain.Configuration{BatchID: d.batch}
		}
	}
	if err != nil {
		return err
	}
	// Who is not at work now will never be again.
	if locked, err := d.h.Live.Locked(ctx, id.Aggregate()); err != nil || len(locked) > 0 {
		if err == nil {
			err = &Error{Op: "delete", Aggregate: id.Aggregate(), Err: ErrLocked, Hint: "a worker is still at it; ask again when it has ended"}
		}
		return err
	}
	if err := d.removeWork(at.State); err != nil {
		return fmt.Errorf("remove the working directory of %s: %w", id, err)
	}
	crash.Point("eventstore/deletion/after-remove-work")
	if d.cleaned {
		return nil
	}
	o := d.o
	o.CommandID, o.Known = "", nil
	_, err = d.h.Job(ctx, id, domain.DeleteJobWithBatch{}, o)
	crash.Point("eventstore/deletion/after-delete-job")
	if errors.Is(err, ErrNotFound) {
		return nil // somebody else was faster
	}
	return err
}
