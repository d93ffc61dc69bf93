package eventstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/domain"
)

// Moving returns a job of a batch that is being processed and neither held nor waiting for
// working space. It is "" if the batch has open jobs and all of them rest. The job likely,
// "" = none, is looked at first. A batch without open jobs is ErrNotFound.
func (h *Handler) Moving(ctx context.Context, id domain.BatchID, likely domain.JobID) (domain.JobID, error) {
	if likely != "" {
		if moves, _, err := h.moves(ctx, likely); moves || err != nil {
			return likely, err
		}
	}
	open, err := h.Live.BatchJobs(ctx, id, domain.SubProcessing)
	if err != nil {
		return "", err
	}
	resting := 0
	for _, job := range open {
		moves, rests, err := h.moves(ctx, job)
		if moves || err != nil {
			return job, err
		}
		if rests {
			resting++
		}
	}
	if resting == 0 { // what was open has ended meanwhile
		return "", &Error{Op: "look at the open jobs", Aggregate: id.Aggregate(), Err: ErrNotFound}
	}
	return "", nil
}

// moves reports whether a job is being processed and does not rest, or does. It is neither
// if it is not open any more.
func (h *Handler) moves(ctx context.Context, id domain.JobID) (moves, rests bool, err error) {
	is, err := h.Live.Job(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return false, false, nil
	}
	if err != nil || is.State.State.Sub() != domain.SubProcessing {
		return false, false, err
	}
	rests = is.State.Rests()
	return !rests, rests, nil
}

// FreeResting frees the place of a running batch all of whose open jobs are held or wait
// for working space (see [Handler.Moving]). Moving is a job that goes on, "" = none is known.
func (h *Handler) FreeResting(ctx context.Context, b domain.Batch, likely domain.JobID, m Meta) (moving domain.JobID, freed bool, err error) {
	if !b.Runs() || b.State != domain.BatchProcessing {
		return "", false, nil
	}
	moving, err = h.Moving(ctx, b.ID, likely)
	if errors.Is(err, ErrNotFound) {
		return "", false, nil // it is about to be reported
	}
	if err != nil || moving != "" {
		return moving, false, err
	}
	why := domain.Reason{Class: domain.ClassWait, Code: domain.CodeJobsRest, Message: "all of its open jobs are held or wait for working space"}
	if _, err = h.Batch(ctx, b.ID, domain.FreeBatch{Reason: why}, m); err != nil {
		return "", false, fmt.Errorf("free the place of a batch whose jobs rest: %w", err)
	}
	return "", true, nil
}
