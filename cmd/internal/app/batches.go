package app

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
)

// BatchView is a batch and its jobs.
type BatchView struct {
	projections.BatchSummary
	Jobs []projections.JobRow `json:"jobs"`
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
	v.Jobs = []projections.JobRow{}
	db, err := a.World.DB(ctx)
	if err != nil {
		return v, err
	}
	v.BatchSummary, err = projections.Summary(ctx, db, id)
	if errors.Is(err, projections.ErrNotFound) {
		return a.liveBatch(ctx, id)
	}
	if err != nil {
		return v, err
	}
	v.Projected = true
	if v.FileCounts, err = projections.CountFiles(ctx, db, id.Aggregate()); err != nil {
		return v, err
	}
	jobs, err := projections.Jobs(ctx, db, projections.JobFilter{Batch: id, Limit: limit})
	if v.Jobs = notNil(jobs); err == nil {
		v.JobsTotal, err = projections.TotalJobs(ctx, db, projections.JobFilter{Batch: id})
	}
	v.Truncated = v.JobsTotal > int64(len(jobs))
	if err == nil {
		v.Messages, err = a.messages(ctx, db, id)
	}
	return v, err
}

// liveBatch reads what the tables do not have yet.
func (a *App) liveBatch(ctx context.Context, id domain.BatchID) (v BatchView, err error) {
	v.Jobs = []projections.JobRow{}
	live, err := a.World.Live(ctx)
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
