package daemon

import (
	"context"
	"log/slog"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// commitTimeout bounds a write. It is not cut short when the service stops: a
// write under way shall not end with an unknown outcome.
const commitTimeout = 30 * time.Second

// BatchTask is what a step gets of a claimed batch.
type BatchTask struct {
	Batch domain.Batch // as it was claimed, or as the last Keep left it
	Claim *eventstore.Claim
	Log   *slog.Logger

	handler *eventstore.Handler
	actor   domain.Actor
	trace   eventstore.Trace
}

// JobTask is what a step gets of a claimed job.
type JobTask struct {
	Job   domain.Job // as it was claimed, or as the last Keep left it
	Claim *eventstore.Claim
	Log   *slog.Logger

	token   eventstore.Token  // of Job: a write on top of it need not read it again
	term    *eventstore.Token // under which the step has promised working space
	tries   *tries
	handler *eventstore.Handler
	actor   domain.Actor
	trace   eventstore.Trace
}

// Keep writes a command in the middle of a step; work goes on under the claim.
func (t *BatchTask) Keep(ctx context.Context, cmd domain.BatchCommand) error {
	return t.write(ctx, cmd, true)
}

func (t *BatchTask) write(ctx context.Context, cmd domain.BatchCommand, keep bool) error {
	ctx, cancel, err := commitContext(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	res, err := t.handler.Batch(ctx, t.Batch.ID, cmd, t.order(keep))
	if err == nil {
		t.Batch = res.State
	}
	return err
}

// CreateJobs makes the jobs of consecutive rows, the first of them being the
// batch's next one.
func (t *BatchTask) CreateJobs(ctx context.Context, cmds []domain.CreateJob) error {
	ctx, cancel, err := commitContext(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	if _, err := t.handler.CreateJobs(ctx, t.Batch.Listing.FirstJID, t.Batch.NextRow, cmds, t.order(true)); err != nil {
		return err
	}
	t.Batch.NextRow += len(cmds)
	return nil
}

func (t *BatchTask) order(keep bool) eventstore.Meta {
	return eventstore.Meta{Actor: t.actor, Claim: t.Claim, KeepClaim: keep, CausationID: cause(t.Batch.ID.Aggregate(), t.Batch.Version),
		TraceParent: t.trace.Parent()}
}

// cause names the event that a daemon reacts to: the last of what it claimed.
func cause(a domain.Aggregate, version int64) string {
	return domain.Event{Aggregate: a, Version: version}.ID()
}

// Keep writes a command in the middle of a step; work goes on under the claim.
func (t *JobTask) Keep(ctx context.Context, cmd domain.JobCommand) error {
	_, err := t.write(ctx, cmd, true, "")
	return err
}

// write gives the claim of the next state, if the job was handed over to it.
func (t *JobTask) write(ctx context.Context, cmd domain.JobCommand, keep bool, next domain.JobState) (*eventstore.Claim, error) {
	ctx, cancel, err := commitContext(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	res, err := t.handler.Job(ctx, t.Job.ID, cmd, eventstore.Meta{Actor: t.actor, Claim: t.Claim, KeepClaim: keep, Next: next, SpaceTerm: t.term,
		CausationID: cause(t.Job.ID.Aggregate(), t.Job.Version), TraceParent: t.trace.Parent(), Known: &eventstore.Loaded[domain.Job]{State: t.Job, Token: t.token}})
	if err == nil {
		t.Job, t.token = res.State, res.Token
	}
	return res.Claim, err
}

// attempt is the number of the present attempt at the job, from 1.
func (t *JobTask) attempt() int { return t.Job.RetryCount + 1 }

// lastTry reports whether the job fails when it is given back for later once more.
func (t *JobTask) lastTry() bool {
	return t.tries.count(t.Job.ID.Aggregate(), t.Job.Version)+1 >= maxTries
}

// commitContext starts no write when ctx has ended, and lets one that was started
// come to its end.
func commitContext(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	c, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	return c, cancel, nil
}

// doBatch writes a command without a claim, bounded in time.
func (r *Runner) doBatch(ctx context.Context, id domain.BatchID, cmd domain.BatchCommand, o eventstore.Meta) (domain.Batch, error) {
	ctx, cancel, err := commitContext(ctx)
	if err != nil {
		return domain.Batch{}, err
	}
	defer cancel()
	res, err := r.cfg.Handler.Batch(ctx, id, cmd, o)
	return res.State, err
}
