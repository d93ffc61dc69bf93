package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// JobPage is a page of a list of jobs.
type JobPage struct {
	Jobs      []JobRow `json:"jobs"`
	Total     int64    `json:"total"`
	Truncated bool     `json:"truncated"`
	Next      string   `json:"next,omitempty"`
}

// Jobs lists jobs in the order of their ids.
func (a *App) Jobs(ctx context.Context, f JobFilter) (p JobPage, err error) {
	db, err := a.Open.DB(ctx)
	if err != nil {
		return p, explain("list jobs", err)
	}
	p.Jobs, p.Truncated, err = page(f.Limit, func(limit int) ([]JobRow, error) {
		f.Limit = limit
		return query.Jobs(ctx, db, f)
	})
	if p.Truncated {
		p.Next = p.Jobs[len(p.Jobs)-1].ID
	}
	if err == nil {
		p.Total, err = query.TotalJobs(ctx, db, f)
	}
	return p, explain("list jobs", err)
}

// filesShown is how many files are shown with their job; `accession file ls` lists
// them all.
const filesShown = 20

// JobView is a job, the first of its files and how many there are, every change of
// its state and every failed attempt.
type JobView struct {
	query.JobRow
	FileCounts  FileCounts      `json:"file_counts"`
	FirstFiles  []FileRow       `json:"first_files"`
	Transitions []JobTransition `json:"transitions"`
	Retries     []query.Retry   `json:"retries"`
	At          *Place          `json:"at,omitempty"` // as of which event, nil = now
}

// Job shows one job with its files and its history.
func (a *App) Job(ctx context.Context, id domain.JobID) (v JobView, err error) {
	what := "show " + string(id)
	db, err := a.Open.DB(ctx)
	if err != nil {
		return v, explain(what, err)
	}
	if v.JobRow, err = query.JobByID(ctx, db, id); errors.Is(err, query.ErrNotFound) {
		return v, &Error{Kind: NotFound, What: what, Err: errors.New("there is no such job in the tables"),
			Hint: "`accession job ls --batch BID` lists a batch's jobs; `accession status` tells how far the tables are behind"}
	}
	if err != nil {
		return v, explain(what, err)
	}
	moves, err := query.Transitions(ctx, db, id)
	if err != nil {
		return v, explain(what, err)
	}
	if v.FileCounts, err = query.CountFiles(ctx, db, id.Aggregate()); err != nil {
		return v, explain(what, err)
	}
	files, err := query.Files(ctx, db, query.FileFilter{Job: id, Limit: filesShown})
	if err != nil {
		return v, explain(what, err)
	}
	v.FirstFiles = notNil(files)
	retries, err := query.RetriesOfJob(ctx, db, id)
	v.Transitions, v.Retries = notNil(moves), notNil(retries)
	return v, explain(what, err)
}

// JobAt shows a job as it was.
func (a *App) JobAt(ctx context.Context, id domain.JobID, m Moment) (v JobView, err error) {
	past, at, err := a.jobPast(ctx, id, m)
	if err != nil {
		return v, explain("show "+string(id), err)
	}
	if v.JobRow, err = past.Job(id); err != nil {
		return v, notYet(string(id), at, err)
	}
	files := past.Files()
	v.At, v.FileCounts = &at, past.Counts(id.Aggregate())
	v.FirstFiles = notNil(files[:min(len(files), filesShown)])
	v.Transitions, v.Retries = notNil(past.Transitions()), notNil(past.Retries(domain.KindJob))
	return v, nil
}

// changeJob decides and writes an operator's command about a job.
func (a *App) changeJob(ctx context.Context, verb string, id domain.JobID, cmd domain.JobCommand) (Changed, error) {
	what := verb + " " + string(id)
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return Changed{}, explain(what, err)
	}
	res, err := handler.Job(ctx, id, cmd, a.order())
	if errors.Is(err, eventstore.ErrNotFound) {
		return Changed{}, &Error{Kind: NotFound, What: what, Err: errors.New("there is no such job"),
			Hint: "`accession job ls` lists them; `accession job show " + string(id) + "` tells of one that was deleted"}
	}
	if errors.Is(err, eventstore.ErrLocked) {
		if at, looked := handler.Live.Job(ctx, id); looked == nil {
			return Changed{}, &Error{Kind: Refused, What: what, Err: fmt.Errorf("%s is %s and locked by a worker", id.Aggregate(), at.State.State), Hint: lockedHint}
		}
	}
	if err != nil {
		return Changed{}, explain(what, err)
	}
	before, after := res.Before, res.State
	c := Changed{Subject: id.Aggregate().String(), Version: after.Version, From: string(before.State), State: string(after.State), Row: res.Row, DryRun: a.DryRun}
	if before.Priority != after.Priority {
		c.add("its priority changes from %d to %d", before.Priority, after.Priority)
	}
	if before.State != after.State && after.QueueEntry() != "" {
		c.add("it waits in the queue %s with priority %d", after.State, after.Priority)
	}
	if after.RetryCount != before.RetryCount {
		c.add("this is its attempt number %d", after.RetryCount+1)
	}
	if from, to := before.State.Sub(), after.State.Sub(); from != to && to != domain.SubNone {
		c.add("its batch %s counts it in %s, no longer in %s", after.Configuration.BatchID, to, from)
	}
	return c, nil
}

// Requeue sends a failed job back to the state that it failed in (J16 to J19).
func (a *App) Requeue(ctx context.Context, id domain.JobID, why string) (Changed, error) {
	return a.changeJob(ctx, "requeue", id, domain.RequeueJob{Reason: because(why)})
}

// HoldJob parks a pending job until it is released (J2).
func (a *App) HoldJob(ctx context.Context, id domain.JobID, why string) (Changed, error) {
	if why = strings.TrimSpace(why); why == "" {
		why = "held by " + string(a.Actor)
	}
	return a.changeJob(ctx, "hold", id, domain.HoldJob{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeHeldByOperator, Message: why}})
}

// ReleaseJob lets a held job go on (J3). It is refused while its collection is on
// hold.
func (a *App) ReleaseJob(ctx context.Context, id domain.JobID, why string) (Changed, error) {
	return a.changeJob(ctx, "release", id, domain.ReleaseJob{Reason: because(why)})
}

// Reprioritise changes how urgent a job is, in whatever queue it waits: 0 to 99,
// lower runs first.
func (a *App) Reprioritise(ctx context.Context, id domain.JobID, priority int, why string) (Changed, error) {
	return a.changeJob(ctx, "change the priority of", id, domain.ReprioritiseJob{Priority: priority, Reason: because(why)})
}

// DeleteJob deletes a failed or held job for a reason (J21, J22), and what it has
// in its working directory. The answer says what will be missing in the report of
// its batch. The last job of a batch takes the batch on to its report (B5).
func (a *App) DeleteJob(ctx context.Context, id domain.JobID, why string) (Changed, error) {
	what := "delete " + string(id)
	reason, err := deletedBecause(what, why)
	if err != nil {
		return Changed{}, err
	}
	handler, err := a.Open.Handler(ctx)
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
	if err := a.Open.RemoveWork(ctx, job.State); err != nil {
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
