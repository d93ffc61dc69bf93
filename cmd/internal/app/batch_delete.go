package app

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/domain"
)

// DeleteBatch deletes a failed or held batch for a reason (B11, B12), its jobs with
// it (J23, each with its event), and what they have in working directories. Objects
// that were stored stay. When it has answered without an error the batch is deleted
// for everybody; what could not be removed at once, the janitor removes. A deletion
// that was interrupted is finished by asking again.
func (a *App) DeleteBatch(ctx context.Context, id domain.BatchID, why string) (Changed, error) {
	what := "delete " + string(id)
	reason, err := deletedBecause(what, why)
	if err != nil {
		return Changed{}, err
	}
	return a.endBatch(ctx, "delete", id, domain.DeleteBatch{Reason: reason})
}

// endBatch deletes a batch and finishes the deletion.
func (a *App) endBatch(ctx context.Context, verb string, id domain.BatchID, cmd domain.BatchCommand) (Changed, error) {
	what := verb + " " + string(id)
	handler, err := a.World.Handler(ctx)
	if err != nil {
		return Changed{}, explain(what, err)
	}
	jobs, err := handler.Live.Refs(ctx, id)
	if err != nil {
		return Changed{}, explain(what, err)
	}
	c, err := a.changeBatch(ctx, verb, id, cmd)
	var refused *domain.Refused
	if errors.As(err, &refused) && refused.State == string(domain.BatchDeleted) {
		c, err = Changed{Subject: id.Aggregate().String(), From: refused.State, State: refused.State, DryRun: a.DryRun}, nil
		c.add("it was deleted before; what is left of it is removed")
	}
	if err != nil {
		return c, err
	}
	if n := jobs.Processing + jobs.Failed + jobs.Completed; n > 0 {
		c.add("its %d jobs go with it: %d completed, %d failed, %d in progress; stored objects, reports and history stay", n, jobs.Completed, jobs.Failed, jobs.Processing)
	}
	if a.DryRun {
		return c, nil
	}
	remove := func(j domain.Job) error { return a.World.RemoveWork(ctx, j) }
	if err := handler.FinishDeletion(ctx, id, a.order(), remove); err != nil {
		c.add("not all of it could be removed at once, the janitor goes on: %v", err)
	}
	return c, nil
}
