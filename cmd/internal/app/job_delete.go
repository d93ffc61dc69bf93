package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// DeleteJob deletes a failed or held job for a reason (J21, J22), and what it has
// in its working directory. The answer says what will be missing in the report of
// its batch. The last job of a batch takes the batch on to its report (B5).
func (a *App) DeleteJob(ctx context.Context, id domain.JobID, why string) (Changed, error) {
	what := "delete " + string(id)
	reason, err := deletedBecause(what, why)
	if err != nil {
		return Changed{}, err
	}
	handler, err := a.World.Handler(ctx)
	if err != nil {
		return Changed{}, explain(what, err)
	}
	job, err := handler.Live.Job(ctx, id)
	if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
		return Changed{}, explain(what, err)
	}
	c, err := a.changeJob(ctx, "delete", id, domain.DeleteJob{Reason: reason})
	if err != nil {
		return c, err
	}
	if batch, err := handler.Live.Batch(ctx, job.State.Configuration.BatchID); err == nil {
		c.add("%s", notReported(job.State, batch.State))
	}
	if a.DryRun {
		return c, nil
	}
	if err := a.World.RemoveWork(ctx, job.State); err != nil {
		c.add("its working directory could not be removed at once, the janitor does it: %v", err)
	}
	// Whether it was the last one the rules know; if not, or if this fails, the
	// janitor looks again.
	_, _ = handler.Batch(ctx, job.State.Configuration.BatchID, domain.BeginReport{}, a.order())
	return c, nil
}

// notReported says what a batch's report will not tell once the job is gone.
func notReported(j domain.Job, b domain.Batch) string {
	name := j.Configuration.FileName
	if name == "" {
		name = fetch.Redact(j.Configuration.PayloadURL)
	}
	fate := "was held"
	if r := j.Reason; j.State == domain.JobFailed && r != nil {
		fate = fmt.Sprintf("failed with %s: %s", r.Code, r.Message)
	}
	if b.Report != nil {
		return fmt.Sprintf("the depositor was told of it in the report of %s; an update report counts it as deleted and no longer names %s (row %d), which %s",
			b.ID, name, j.Configuration.Row+1, fate)
	}
	return fmt.Sprintf("%s is not finished: its report will count this job as deleted and will not name %s (row %d), which %s", b.ID, name, j.Configuration.Row+1, fate)
}
