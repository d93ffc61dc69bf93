package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app/hint"
	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// The comments of the columns in the database document the fields.
type (
	// JobFilter selects jobs.
	JobFilter = query.JobFilter
	// JobRow is a job as the tables have it.
	JobRow = query.JobRow
	// JobTransition is one change of a job's state.
	JobTransition = query.JobTransition
	// Retry is one failed attempt of a job or file.
	Retry = query.Retry
	// JobStep is an entry of the compute queue for a step of a job's profile.
	JobStep = query.StepEntry
)

// Jobs lists jobs in the order of their ids or that which sort names, from a cursor on. A
// batch that does not exist is an error.
func (a *App) Jobs(ctx context.Context, f JobFilter, from Cursor, sort string) (p Page[JobRow], err error) {
	defer Explained(&err, "list jobs")
	t, limit := a.read(ctx), pageLimit(f.Limit)
	f.Limit = limit + 1
	if sort != "" {
		p, err = sortableJobs.page(ctx, t, f, limit, sort, from)
	} else if f.After, err = After(from, domain.KindJob, domain.ParseJobID); err == nil {
		p = PageOf(limit, ask(ctx, t, query.Jobs, f), domain.KindJob, func(j JobRow) string { return j.ID })
	}
	if err != nil {
		return p, err
	}
	if p.Total == nil {
		p.Total = ask(ctx, t, query.ListedJobs, f)
	}
	if t.err == nil && len(p.Items) == 0 {
		t.err = a.knownIn(ctx, t, f.Batch, "")
	}
	return p, t.err
}

// filesShown is how many files are shown with their job; `accession file ls` lists
// them all.
const filesShown = 20

// JobView is a job, the first of its files and how many there are, every change of
// its state and every failed attempt.
type JobView struct {
	JobRow
	FileCounts  FileCounts      `json:"file_counts"`
	FirstFiles  []FileRow       `json:"first_files"`
	Transitions []JobTransition `json:"transitions"`
	Retries     []Retry         `json:"retries"`
	At          *AsOf           `json:"at,omitempty"` // as of which event, nil = now
	// Steps are the entries of the compute queue for steps of its profile, newest first.
	Steps []JobStep `json:"steps,omitempty"`
	// CorruptSince says since when at the latest a stored file of it is corrupt.
	CorruptSince *domain.Time `json:"corrupt_since,omitempty"`
}

// Job shows one job with its files and its history.
func (a *App) Job(ctx context.Context, id domain.JobID) (v JobView, err error) {
	defer Explained(&err, "show "+string(id))
	t := a.read(ctx)
	v.JobRow = ask(ctx, t, query.JobByID, id)
	v.Transitions = notNil(ask(ctx, t, query.Transitions, id))
	v.FileCounts = ask(ctx, t, query.CountFiles, id.Aggregate())
	v.FirstFiles = shown(ask(ctx, t, query.Files, FileFilter{Job: id, Limit: filesShown}), fileOf)
	v.Retries = notNil(ask(ctx, t, query.RetriesOfJob, id))
	if records, err := a.Open.Records(ctx); err == nil && t.err == nil {
		if list, err := records.CorruptOf(ctx, string(id)); err == nil && len(list) > 0 {
			v.CorruptSince = &list[0].Since
		}
	}
	return v, missing(t.err, "`accession job ls --batch BID` lists a batch's jobs; `accession status` shows how far the tables are behind",
		"there is no such job in the tables")
}

// JobAt shows a job as it was.
func (a *App) JobAt(ctx context.Context, id domain.JobID, m Moment) (v JobView, err error) {
	defer Explained(&err, "show "+string(id))
	past, at, err := a.jobPast(ctx, id, m)
	if err != nil {
		return v, err
	}
	v.JobRow, err = past.Job(id)
	files := past.Files()
	v.At, v.FileCounts, v.FirstFiles = &at, past.Counts(id.Aggregate()), shown(files[:min(len(files), filesShown)], fileOf)
	v.Transitions, v.Retries = notNil(past.Transitions()), notNil(past.Retries(domain.KindJob))
	return v, notYet(at, err)
}

// changeJob decides and writes an operator's command about a job.
func (a *App) changeJob(ctx context.Context, verb string, id domain.JobID, cmd domain.JobCommand) (c Changed, err error) {
	defer Explained(&err, verb+" "+string(id))
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return c, err
	}
	res, err := handler.Job(ctx, id, cmd, a.Meta())
	if errors.Is(err, eventstore.ErrLocked) {
		if at, looked := handler.Live.Job(ctx, id); looked == nil {
			return c, errorf(Refused, lockedHint, "%s is %s and locked by a worker", id.Aggregate(), at.State.State)
		}
	}
	if err != nil {
		return c, missing(err, "`accession job ls` lists them; `accession job show "+string(id)+"` shows one that was deleted", "there is no such job")
	}
	before, after := res.Before, res.State
	c = Changed{Target: target.Of(id.Aggregate()), Version: after.Version, From: string(before.State), State: string(after.State), Row: res.Row, DryRun: a.DryRun}
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

// FailJob ends a job that has neither completed nor failed, for a reason (J24), even if a
// worker has it locked: the next write of that worker is refused. The attempts that run
// at its files end too (F5, F13). The last job of a batch takes the batch on to its report
// (B5).
func (a *App) FailJob(ctx context.Context, id domain.JobID, why string) (c Changed, err error) {
	if c, err = a.failJob(ctx, id, why); err != nil || a.DryRun {
		return c, err
	}
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return c, err
	}
	if j, err := handler.Live.Job(ctx, id); err == nil {
		a.tryReport(ctx, handler, j.State.Configuration.BatchID)
	}
	return c, nil
}

// endFilesTime bounds how long a command waits for the tables.
const endFilesTime = 5 * time.Second

// failJob fails a job and leaves its batch where it is.
func (a *App) failJob(ctx context.Context, id domain.JobID, why string) (c Changed, err error) {
	defer Explained(&err, "fail "+string(id))
	reason, err := required("failing a job", domain.CodeCancelled, why)
	if err != nil {
		return c, err
	}
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return c, err
	}
	if c, err = a.changeJob(ctx, "fail", id, domain.CancelJob{Reason: *reason}); err != nil {
		return c, err
	}
	if locked, err := handler.Live.Locked(ctx, id.Aggregate()); err == nil && len(locked) > 0 {
		c.add("a worker has it locked: its next write is refused, and it ends its step")
	}
	if a.DryRun {
		return c, nil
	}
	if from := domain.JobState(c.From); from == domain.JobDownloading || from == domain.JobProcessing {
		if err := a.endFiles(ctx, id, c.Version, *reason); err != nil {
			c.add("attempts that run at its files could not be ended at once; they end when the job is requeued, or by their timeouts: %v", err)
		}
	}
	return c, nil
}

// endFiles ends the attempts that run at the files of a job which was failed. The tables
// name them once they show the failure.
func (a *App) endFiles(ctx context.Context, id domain.JobID, version int64, why domain.Reason) error {
	ctx, cancel := context.WithTimeout(ctx, endFilesTime)
	defer cancel()
	if err := a.Open.Projected(ctx, id.Aggregate(), version); err != nil {
		return err
	}
	t := a.read(ctx)
	rows := ask(ctx, t, query.Files, FileFilter{Job: id, State: domain.FileDownloading, Limit: math.MaxInt32})
	rows = append(rows, ask(ctx, t, query.Files, FileFilter{Job: id, State: domain.FileProcessing, Limit: math.MaxInt32})...)
	if t.err != nil {
		return t.err
	}
	files, err := a.Open.FileHandler(ctx)
	if err != nil {
		return err
	}
	hashes := make([]domain.FileHash, len(rows))
	for i, row := range rows {
		hashes[i] = domain.FileHash(row.RawFileHash)
	}
	return endAttempts(ctx, files, hashes, why, a.Meta())
}

// tryReport takes a batch on to its report if this was its last job (B5). If it was not,
// or if this fails, the janitor tries again.
func (a *App) tryReport(ctx context.Context, handler *eventstore.Handler, id domain.BatchID) {
	_, _ = handler.Batch(ctx, id, domain.BeginReport{}, a.Meta())
}

// Requeue requeues a failed job in the state that it failed in (J16 to J19), or from its
// beginning (J25).
func (a *App) Requeue(ctx context.Context, id domain.JobID, why string) (Changed, error) {
	return a.changeJob(ctx, "requeue", id, domain.RequeueJob{Reason: operatorReason(why)})
}

// HoldJob holds a pending job until it is released (J2).
func (a *App) HoldJob(ctx context.Context, id domain.JobID, why string) (Changed, error) {
	return a.changeJob(ctx, "hold", id, domain.HoldJob{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeHeldByOperator,
		Message: orElse(why, "held by "+string(a.Actor))}})
}

// ReleaseJob releases a held job (J3). It is refused while its collection is on hold.
func (a *App) ReleaseJob(ctx context.Context, id domain.JobID, why string) (Changed, error) {
	return a.changeJob(ctx, "release", id, domain.ReleaseJob{Reason: operatorReason(why)})
}

// Reprioritise changes the priority of a job, in whatever queue it waits: 0 to 99,
// lower runs first.
func (a *App) Reprioritise(ctx context.Context, id domain.JobID, priority int, why string) (Changed, error) {
	return a.changeJob(ctx, "change the priority of", id, domain.ReprioritiseJob{Priority: priority, Reason: operatorReason(why)})
}

// DeleteJob deletes a job that has not completed for a reason (J21, J22), and what it has
// in its working directory. If it is being worked on it is failed first (J24), and deleted
// once its worker has let it go. The effects say what the report of its batch will lack. The
// last job of a batch takes the batch on to its report (B5).
func (a *App) DeleteJob(ctx context.Context, id domain.JobID, why string) (c Changed, err error) {
	defer Explained(&err, "delete "+string(id))
	reason, err := required("a deletion", codeRequested, why)
	if err != nil {
		return c, err
	}
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return c, err
	}
	job, err := handler.Live.Job(ctx, id)
	if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
		return c, err
	}
	from, ended := job.State.State, ""
	failing := a.part("fail")
	if from != domain.JobHeld && from.Sub() == domain.SubProcessing {
		if a.DryRun {
			c, err = a.changeJob(ctx, "delete", id, domain.CancelJob{Reason: *reason})
			c.State, c.Row = string(domain.JobDeleted), domain.RowCancel
			c.Effects = []string{"it fails first, and is deleted once no worker has it locked"}
			return c, err
		}
		if _, err = failing.failJob(ctx, id, why); err != nil {
			return c, err
		}
		ended = fmt.Sprintf("it was %s and failed first (%s)", from, domain.RowCancel)
		if err := waitUnlocked(ctx, handler.Live, id); err != nil {
			return c, err
		}
		if job, err = handler.Live.Job(ctx, id); err != nil {
			return c, err
		}
	}
	if c, err = a.after(failing, job.State.CommandID).changeJob(ctx, "delete", id, domain.DeleteJob{Reason: reason}); err != nil {
		return c, err
	}
	if ended != "" {
		c.add("%s", ended)
	}
	batch, err := handler.Live.Batch(ctx, job.State.Configuration.BatchID)
	if err == nil {
		c.add("%s", hint.NotReported(job.State, batch.State))
	}
	if a.DryRun {
		return c, nil
	}
	if err := a.Open.RemoveWork(ctx, job.State); err != nil {
		c.add("its working directory could not be removed at once, the janitor does it: %v", err)
	}
	a.tryReport(ctx, handler, job.State.Configuration.BatchID)
	return c, nil
}
