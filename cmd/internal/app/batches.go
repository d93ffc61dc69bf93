package app

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/cmd/internal/app/hint"
	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// The comments of the columns in the database document the fields.
type (
	// Filter is what batches, jobs and files are all selected by.
	Filter = query.Filter
	// BatchFilter selects batches.
	BatchFilter = query.BatchFilter
	// BatchSummary is a batch in a list.
	BatchSummary struct {
		ID string `json:"id"`
		query.BatchSummary
	}
)

func batchOf(row query.BatchSummary) BatchSummary { return BatchSummary{row.BatchID, row} }

// Batches lists batches, newest first or in the order that sort names, from a cursor on.
func (a *App) Batches(ctx context.Context, f BatchFilter, from Cursor, sort string) (p Page[BatchSummary], err error) {
	defer Explained(&err, "list batches")
	t, limit := a.read(ctx), pageLimit(f.Limit)
	f.Limit = limit + 1
	if sort != "" {
		p, err = sortableBatches.page(ctx, t, f, limit, sort, from)
	} else if f.Before, err = After(from, domain.KindBatch, domain.ParseBatchID); err == nil {
		p = PageOf(limit, shown(ask(ctx, t, query.Batches, f), batchOf), domain.KindBatch, func(b BatchSummary) string { return b.ID })
	}
	if err != nil {
		return p, err
	}
	if p.Total == nil {
		p.Total = ask(ctx, t, query.ListedBatches, f)
	}
	return p, t.err
}

// BatchView is a batch and its jobs.
type BatchView struct {
	BatchSummary
	Jobs []JobRow `json:"jobs"`
	// FileCounts counts the files of its jobs by state.
	FileCounts FileCounts `json:"file_counts"`
	// JobsTotal counts its jobs in the tables, Truncated says that not all are shown.
	JobsTotal int64 `json:"jobs_total"`
	Truncated bool  `json:"truncated"`
	// Messages are the mails about the batch, oldest first; nil when it is shown as
	// of the past.
	Messages []Message `json:"messages,omitempty"`
	// Callbacks are the first of those about its jobs, at most as many as jobs are shown: what has
	// not arrived, then the newest. batch.callbacks lists all. nil when it is shown as of the past.
	Callbacks []Callback `json:"callbacks,omitempty"`
	// Projected is false when the batch is newer than the tables: it was read from
	// the live state, and its jobs are not there yet.
	Projected bool `json:"projected"`
	// MetadataRecords counts those of a metadata deposit.
	MetadataRecords *domain.MetadataRecords `json:"records,omitempty"`
	// Next is what an operator should do about it, "" = nothing.
	Next string `json:"next_step,omitempty"`
	// At is the event as of which the batch is shown, nil = now.
	At *AsOf `json:"at,omitempty"`
}

// Batch shows one batch and up to limit of its jobs. A batch that was accepted a
// moment ago is found too.
func (a *App) Batch(ctx context.Context, id domain.BatchID, limit int) (v BatchView, err error) {
	defer Explained(&err, "show "+string(id))
	t := a.read(ctx)
	v.BatchSummary, v.Projected = batchOf(ask(ctx, t, query.Summary, id)), true
	if errors.Is(t.err, query.ErrNotFound) {
		return a.liveBatch(ctx, id)
	}
	v.FileCounts = ask(ctx, t, query.CountFiles, id.Aggregate())
	v.Jobs = notNil(ask(ctx, t, query.Jobs, JobFilter{Batch: id, Limit: limit}))
	v.JobsTotal = ask(ctx, t, query.TotalJobs, JobFilter{Batch: id})
	v.MetadataRecords = ask(ctx, t, query.MetadataRecords, id)
	v.Truncated = v.JobsTotal > int64(len(v.Jobs))
	v.Next = hint.Batch(string(id), v.Status, v.JobsInProgress+v.JobsHeld, v.JobsFailed, v.JobsCompleted)
	if v.Messages, err = a.messages(ctx, t, id); err == nil {
		v.Callbacks, err = a.callbacks(ctx, id, limit)
	}
	return v, err
}

// liveBatch reads from the live state a batch that the tables do not have yet.
func (a *App) liveBatch(ctx context.Context, id domain.BatchID) (v BatchView, err error) {
	v.Jobs = []JobRow{}
	live, err := a.Open.Live(ctx)
	if err != nil {
		return v, err
	}
	at, err := live.Batch(ctx, id)
	if err != nil {
		return v, missing(err, "`accession batch ls` lists them", "there is no such batch")
	}
	b := at.State
	v.ID, v.BatchID = string(id), string(id)
	v.Status, v.Submitter, v.ProfileName, v.Type = string(b.State), b.Submission.Submitter, b.Submission.ProfileName, string(b.Type())
	v.ErcWhat, v.FileName = b.Submission.ErcWhat, b.Submission.FileName
	switch {
	case b.Listing != nil:
		v.RowsListed, v.JobsInProgress = new(int64(b.Listing.Rows)), int64(b.Listing.Rows)
	case b.State != domain.BatchPending && b.State != domain.BatchHeld && b.State != domain.BatchDeleted:
		v.RowsListed = new(int64) // its manifest is invalid
	}
	if b.Reason != nil {
		v.ReasonClass, v.ReasonCode, v.ReasonMessage = new(string(b.Reason.Class)), new(string(b.Reason.Code)), &b.Reason.Message
	}
	return v, nil
}

// BatchAt shows a batch as it was, and up to limit of its jobs.
func (a *App) BatchAt(ctx context.Context, id domain.BatchID, m Moment, limit int) (v BatchView, err error) {
	defer Explained(&err, "show "+string(id))
	past, at, err := a.batchPast(ctx, id, m)
	if err != nil {
		return v, err
	}
	row, err := past.Summary(id)
	v.BatchSummary = batchOf(row)
	jobs := past.Jobs()
	v.At, v.Projected, v.FileCounts, v.JobsTotal = &at, true, past.Counts(id.Aggregate()), int64(len(jobs))
	v.Jobs = notNil(jobs[:min(len(jobs), limit)])
	v.Truncated, v.MetadataRecords = len(v.Jobs) < len(jobs), past.MetadataRecords(id)
	return v, notYet(at, err)
}

// changeBatch decides and writes an operator's command about a batch.
func (a *App) changeBatch(ctx context.Context, verb string, id domain.BatchID, cmd domain.BatchCommand) (c Changed, err error) {
	defer Explained(&err, verb+" "+string(id))
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return c, err
	}
	res, err := handler.Batch(ctx, id, cmd, a.Meta())
	var refused *domain.Refused
	if errors.As(err, &refused) && refused.State == "" {
		return c, errorf(NotFound, "`accession batch ls` lists them, also those that were deleted", "there is no such batch")
	}
	if err != nil {
		return c, err
	}
	return Changed{Target: target.Of(id.Aggregate()), Version: res.State.Version, From: string(res.Before.State), State: string(res.State.State),
		Row: res.Row, DryRun: a.DryRun}, nil
}

// ReleaseBatch releases a held batch (B4). It is refused while its collection is on
// hold.
func (a *App) ReleaseBatch(ctx context.Context, id domain.BatchID, why string) (Changed, error) {
	return a.changeBatch(ctx, "release", id, domain.ReleaseBatch{Reason: operatorReason(why)})
}

// RequestUpdate requests a second report of a failed batch, once its requeued jobs have
// ended (B8). A daemon makes the report (B9, B10).
func (a *App) RequestUpdate(ctx context.Context, id domain.BatchID, why string) (c Changed, err error) {
	defer Explained(&err, "update-report "+string(id))
	if c, err = a.changeBatch(ctx, "update-report", id, domain.RequestUpdate{Reason: operatorReason(why)}); err != nil {
		return c, err
	}
	live, err := a.Open.Live(ctx)
	if err != nil {
		return c, err
	}
	if refs, err := live.Refs(ctx, id); err == nil {
		c.add("the report lists %d completed and %d unresolved jobs, and which of them succeeded since the report before", refs.Completed, refs.Failed)
	}
	return c, nil
}

// DeleteBatch deletes a failed or held batch for a reason (B11, B12), its jobs with
// it (J23, each with its event), and what they have in working directories. Objects
// that were stored stay. When it returns without an error the batch is deleted; what
// could not be removed at once, the janitor removes. A deletion that was interrupted
// is finished by another call.
func (a *App) DeleteBatch(ctx context.Context, id domain.BatchID, why string) (c Changed, err error) {
	defer Explained(&err, "delete "+string(id))
	reason, err := required("a deletion", codeRequested, why)
	if err != nil {
		return c, err
	}
	return a.endBatch(ctx, "delete", id, domain.DeleteBatch{Reason: reason})
}

// CleanBatch removes a completed batch from the live state (B13) before its retention
// time is over. Its objects, reports and history stay. It is finished like a deletion,
// but its jobs get no events.
func (a *App) CleanBatch(ctx context.Context, id domain.BatchID, why string) (Changed, error) {
	return a.endBatch(ctx, "clean up", id, domain.CleanBatch{Why: orElse(why, "no reason given")})
}

// endBatch deletes a batch and finishes the deletion.
func (a *App) endBatch(ctx context.Context, verb string, id domain.BatchID, cmd domain.BatchCommand) (c Changed, err error) {
	defer Explained(&err, verb+" "+string(id))
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return c, err
	}
	jobs, err := handler.Live.Refs(ctx, id)
	if err != nil {
		return c, err
	}
	c, err = a.changeBatch(ctx, verb, id, cmd)
	var refused *domain.Refused
	switch {
	case errors.As(err, &refused) && refused.State == string(domain.BatchDeleted):
		c = Changed{Target: target.Of(id.Aggregate()), From: refused.State, State: refused.State, DryRun: a.DryRun}
		c.add("it was deleted before; what is left of it is removed")
	case err != nil:
		return c, err
	}
	if n := jobs.Processing + jobs.Failed + jobs.Completed; n > 0 {
		c.add("its %d jobs go with it: %d completed, %d failed, %d in progress; stored objects, reports and history stay", n, jobs.Completed, jobs.Failed, jobs.Processing)
	}
	if a.DryRun {
		return c, nil
	}
	remove := func(j domain.Job) error { return a.Open.RemoveWork(ctx, j) }
	if err := handler.FinishDeletion(ctx, id, a.Meta(), remove); err != nil {
		c.add("not all of it could be removed at once, the janitor goes on: %v", err)
	}
	return c, nil
}
