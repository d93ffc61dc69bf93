package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/limits"
	"github.com/accession-ingest/accession/cmd/internal/daemon/ownstep"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

// commitTimeout bounds a write. It applies also while the service stops, so that no
// write ends with an unknown outcome.
const commitTimeout = 30 * time.Second

// task is what both kinds of task have.
type task struct {
	Claim *eventstore.Claim
	Log   *slog.Logger

	admission *limits.Admission // of the worker, nil = the daemon's workers are not shared
	handler   *eventstore.Handler
	actor     domain.Actor
	trace     eventstore.Trace
}

// meta returns the metadata of a command that reacts to the last event of an aggregate.
func (t *task) meta(of domain.Aggregate, version int64, keep bool) eventstore.Meta {
	return eventstore.Meta{Actor: t.actor, Claim: t.Claim, KeepClaim: keep, TraceParent: t.trace.Parent(),
		CausationID: domain.Event{Aggregate: of, Version: version}.ID()}
}

// BatchTask is what a step gets of a claimed batch.
type BatchTask struct {
	task
	Batch domain.Batch // as it was claimed, or as the last Keep left it
}

// JobTask is what a step gets of a claimed job.
type JobTask struct {
	task
	Job     domain.Job // as it was claimed, or as the last Keep left it
	Profile Profile    // zero if it is missing and the daemon does not need it

	token eventstore.Token  // of Job: a write on top of it need not read it again
	term  *eventstore.Token // under which the step has promised working space
	tries *limits.Tries

	results []ownstep.Result // of the job's own steps, or of its state
	packed  *fileStates      // its container, nil = it has none that was unpacked
	cited   *container.ERC   // the citation in that container, nil = it has none
}

// Keep writes a command in the middle of a step, and keeps the claim.
func (t *BatchTask) Keep(ctx context.Context, cmd domain.BatchCommand) error {
	return t.write(ctx, cmd, true)
}

func (t *BatchTask) write(ctx context.Context, cmd domain.BatchCommand, keep bool) error {
	res, err := commit(ctx, func(ctx context.Context) (eventstore.Result[domain.Batch], error) {
		return t.handler.Batch(ctx, t.Batch.ID, cmd, t.meta(t.Batch.ID.Aggregate(), t.Batch.Version, keep))
	})
	if err == nil {
		t.Batch = res.State
	}
	return err
}

// CreateJobs makes the jobs of consecutive rows, the first of them being the
// batch's next one.
func (t *BatchTask) CreateJobs(ctx context.Context, cmds []domain.CreateJob) error {
	_, err := commit(ctx, func(ctx context.Context) ([]domain.Recorded, error) {
		return t.handler.CreateJobs(ctx, t.Batch.Listing.FirstJID, t.Batch.NextRow, cmds, t.meta(t.Batch.ID.Aggregate(), t.Batch.Version, true))
	})
	if err == nil {
		t.Batch.NextRow += len(cmds)
	}
	return err
}

// Keep writes a command in the middle of a step, and keeps the claim.
func (t *JobTask) Keep(ctx context.Context, cmd domain.JobCommand) error {
	_, err := t.write(ctx, cmd, true, "")
	return err
}

// write writes a command. It returns the claim of the state next, if the job was handed
// over.
func (t *JobTask) write(ctx context.Context, cmd domain.JobCommand, keep bool, next domain.JobState) (*eventstore.Claim, error) {
	meta := t.meta(t.Job.ID.Aggregate(), t.Job.Version, keep)
	meta.Next, meta.SpaceTerm, meta.Known = next, t.term, &eventstore.Loaded[domain.Job]{State: t.Job, Token: t.token}
	res, err := commit(ctx, func(ctx context.Context) (eventstore.Result[domain.Job], error) {
		return t.handler.Job(ctx, t.Job.ID, cmd, meta)
	})
	if err == nil {
		t.Job, t.token = res.State, res.Token
	}
	return res.Claim, err
}

// lastTry reports whether the job fails, of what an object store says of its object or of
// a depositor's server, instead of being released once more.
func (t *JobTask) lastTry(most int, theirs bool) bool {
	return t.tries.Count(t.Job.ID.Aggregate(), t.round(), theirs)+1 >= most
}

// round names the job's stay in its state, in which attempts are counted.
func (t *JobTask) round() string { return fmt.Sprint(t.Job.State, t.Job.RetryCount) }

// commit starts no write when ctx has ended, and lets one that was started end.
func commit[T any](ctx context.Context, write func(context.Context) (T, error)) (result T, err error) {
	if err := ctx.Err(); err != nil {
		return result, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	return write(ctx)
}

// effect runs an effect between the crash points daemon/OPERATION/before and
// daemon/OPERATION/after.
func effect[T any](operation string, run func() (T, error)) (result T, err error) {
	err = crash.Around("daemon/"+operation, func() (err error) {
		result, err = run()
		return err
	})
	return result, err
}
