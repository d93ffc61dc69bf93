package app

import (
	"context"
	"errors"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// BatchPage is a page of a list of batches.
type BatchPage struct {
	Batches []BatchSummary `json:"batches"`
	// Total counts all that the filter chooses, on this page or not.
	Total int64 `json:"total"`
	// Truncated says that more follow behind the last one, and Next from where: the
	// filter's Before, After for jobs and files.
	Truncated bool   `json:"truncated"`
	Next      string `json:"next,omitempty"`
}

// Batches lists batches, newest first.
func (a *App) Batches(ctx context.Context, f BatchFilter) (p BatchPage, err error) {
	db, err := a.Open.DB(ctx)
	if err != nil {
		return p, explain("list batches", err)
	}
	p.Batches, p.Truncated, err = page(f.Limit, func(limit int) ([]BatchSummary, error) {
		f.Limit = limit
		return query.Batches(ctx, db, f)
	})
	if p.Truncated {
		p.Next = p.Batches[len(p.Batches)-1].BatchID
	}
	if err == nil {
		p.Total, err = query.TotalBatches(ctx, db, f)
	}
	return p, explain("list batches", err)
}

// BatchView is a batch and its jobs.
type BatchView struct {
	query.BatchSummary
	Jobs []query.JobRow `json:"jobs"`
	// FileCounts tells how far the files of its jobs are.
	FileCounts FileCounts `json:"file_counts"`
	// JobsTotal counts its jobs in the tables, Truncated says that not all are shown.
	JobsTotal int64 `json:"jobs_total"`
	Truncated bool  `json:"truncated"`
	// Messages are the mails about the batch, oldest first; nil when it is shown as
	// of the past.
	Messages []Message `json:"messages,omitempty"`
	// Projected is false when the batch is newer than the tables: it was read from
	// the live state, and its jobs are not there yet.
	Projected bool `json:"projected"`
	// At says as of which event this is, nil = now.
	At *Place `json:"at,omitempty"`
}

// Batch shows one batch and up to limit of its jobs. A batch that was accepted in
// this instant is found too.
func (a *App) Batch(ctx context.Context, id domain.BatchID, limit int) (BatchView, error) {
	v, err := a.batch(ctx, id, limit)
	return v, explain("show "+string(id), err)
}

func (a *App) batch(ctx context.Context, id domain.BatchID, limit int) (v BatchView, err error) {
	v.Jobs = []query.JobRow{}
	db, err := a.Open.DB(ctx)
	if err != nil {
		return v, err
	}
	v.BatchSummary, err = query.Summary(ctx, db, id)
	if errors.Is(err, query.ErrNotFound) {
		return a.liveBatch(ctx, id)
	}
	if err != nil {
		return v, err
	}
	v.Projected = true
	if v.FileCounts, err = query.CountFiles(ctx, db, id.Aggregate()); err != nil {
		return v, err
	}
	jobs, err := query.Jobs(ctx, db, query.JobFilter{Batch: id, Limit: limit})
	if v.Jobs = notNil(jobs); err == nil {
		v.JobsTotal, err = query.TotalJobs(ctx, db, query.JobFilter{Batch: id})
	}
	v.Truncated = v.JobsTotal > int64(len(jobs))
	if err == nil {
		v.Messages, err = a.messages(ctx, db, id)
	}
	return v, err
}

// liveBatch reads what the tables do not have yet.
func (a *App) liveBatch(ctx context.Context, id domain.BatchID) (v BatchView, err error) {
	v.Jobs = []query.JobRow{}
	live, err := a.Open.Live(ctx)
	if err != nil {
		return v, err
	}
	at, err := live.Batch(ctx, id)
	if errors.Is(err, eventstore.ErrNotFound) {
		return v, &Error{Kind: NotFound, What: "show " + string(id), Err: errors.New("there is no such batch"), Hint: "`accession batch ls` lists them"}
	}
	if err != nil {
		return v, err
	}
	b := at.State
	v.BatchID, v.Status, v.Submitter, v.ProfileName, v.Type = string(id), string(b.State), b.Submission.Submitter, b.Submission.ProfileName, string(b.Submission.Type)
	v.ErcWhat, v.FileName = b.Submission.ErcWhat, b.Submission.FileName
	switch {
	case b.Listing != nil:
		rows := int64(b.Listing.Rows)
		v.RowsListed, v.JobsInProgress = &rows, rows
	case b.State != domain.BatchPending && b.State != domain.BatchHeld && b.State != domain.BatchDeleted:
		v.RowsListed = new(int64) // its manifest is bad
	}
	if b.Reason != nil {
		class, code := string(b.Reason.Class), string(b.Reason.Code)
		v.ReasonClass, v.ReasonCode, v.ReasonMessage = &class, &code, &b.Reason.Message
	}
	return v, nil
}

// notNil makes an empty list show as one in JSON.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// BatchAt shows a batch as it was, and up to limit of its jobs.
func (a *App) BatchAt(ctx context.Context, id domain.BatchID, m Moment, limit int) (v BatchView, err error) {
	past, at, err := a.batchPast(ctx, id, m)
	if err != nil {
		return v, explain("show "+string(id), err)
	}
	if v.BatchSummary, err = past.Summary(id); err != nil {
		return v, notYet(string(id), at, err)
	}
	jobs := past.Jobs()
	v.At, v.Projected, v.FileCounts, v.JobsTotal = &at, true, past.Counts(id.Aggregate()), int64(len(jobs))
	v.Jobs = notNil(jobs[:min(len(jobs), limit)])
	v.Truncated = len(v.Jobs) < len(jobs)
	return v, nil
}

// changeBatch decides and writes an operator's command about a batch.
func (a *App) changeBatch(ctx context.Context, verb string, id domain.BatchID, cmd domain.BatchCommand) (Changed, error) {
	what := verb + " " + string(id)
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return Changed{}, explain(what, err)
	}
	res, err := handler.Batch(ctx, id, cmd, a.order())
	var refused *domain.Refused
	if errors.As(err, &refused) && refused.State == "" {
		return Changed{}, &Error{Kind: NotFound, What: what, Err: errors.New("there is no such batch"),
			Hint: "`accession batch ls` lists them, also those that were deleted"}
	}
	if err != nil {
		return Changed{}, explain(what, err)
	}
	return Changed{Subject: id.Aggregate().String(), Version: res.State.Version, From: string(res.Before.State), State: string(res.State.State),
		Row: res.Row, DryRun: a.DryRun}, nil
}

// ReleaseBatch lets a held batch go on (B4). It is refused while its collection is
// on hold.
func (a *App) ReleaseBatch(ctx context.Context, id domain.BatchID, why string) (Changed, error) {
	return a.changeBatch(ctx, "release", id, domain.ReleaseBatch{Reason: because(why)})
}

// RequestUpdate asks for a second report of a failed batch, once its requeued jobs
// have ended (B8). The report follows by itself (B9, B10).
func (a *App) RequestUpdate(ctx context.Context, id domain.BatchID, why string) (Changed, error) {
	c, err := a.changeBatch(ctx, "update-report", id, domain.RequestUpdate{Reason: because(why)})
	if err != nil {
		return c, err
	}
	live, err := a.Open.Live(ctx)
	if err != nil {
		return c, explain("update-report "+string(id), err)
	}
	if refs, err := live.Refs(ctx, id); err == nil {
		c.add("the report tells of %d completed and %d unresolved jobs, and which of them succeeded since the report before", refs.Completed, refs.Failed)
	}
	return c, nil
}

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
	handler, err := a.Open.Handler(ctx)
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
	remove := func(j domain.Job) error { return a.Open.RemoveWork(ctx, j) }
	if err := handler.FinishDeletion(ctx, id, a.order(), remove); err != nil {
		c.add("not all of it could be removed at once, the janitor goes on: %v", err)
	}
	return c, nil
}

// CleanBatch takes a completed batch out of the live state (B13) before its
// retention time is over. Its objects, reports and history stay. It is finished
// like a deletion, but its jobs get no events.
func (a *App) CleanBatch(ctx context.Context, id domain.BatchID, why string) (Changed, error) {
	if why = strings.TrimSpace(why); why == "" {
		why = "no reason given"
	}
	return a.endBatch(ctx, "clean up", id, domain.CleanBatch{Why: why})
}
