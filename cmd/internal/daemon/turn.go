package daemon

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/limits"
	"github.com/accession-ingest/accession/cmd/internal/daemon/order"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

// Limits of a turn.
const (
	// maxClaims is how many workers may die while they hold one job in one state.
	maxClaims = 10
	// objectDelay is when a job looks again whether it is the first of its object's, if no
	// event has told.
	objectDelay = 30 * time.Second
	// asideDelay is how long this process does not claim work that was set aside.
	asideDelay = 10 * time.Minute
	// fullPause is the shortest pause before a result for which there was no room is
	// written again.
	fullPause = 200 * time.Millisecond
)

// turn is one claim from its beginning to its end.
type turn struct {
	task
	r     *Runner
	d     Daemon
	work  context.Context // of the step; a result that must wait for room waits as long
	batch *BatchTask      // exactly one of the two is set
	job   *JobTask
	next  *turn // of a job that was handed over
}

// run runs the step and ends the claim. It returns the next turn of a job that was
// handed over, whose worker is taken.
func (t *turn) run(work context.Context) *turn {
	defer t.admission.Leave()
	if t.admission.Lost() { // its session ended before the claim's began
		t.release(0)
		return nil
	}
	if t.d.Job == domain.JobProvisioning {
		defer t.r.steps.space.PromiseWritten(t.job.Job.ID)
	}
	ctx, cancel := context.WithCancel(work)
	if t.job != nil {
		defer t.r.running.Add(t.job.Job, cancel)()
	}
	watch := make(chan struct{})
	go func() {
		defer close(watch)
		defer cancel()
		select {
		case <-t.Claim.Lost:
		case <-t.Claim.Silent:
		case <-ctx.Done():
		}
	}()
	begun := time.Now()
	out := t.outcome(ctx)
	cut := ctx.Err() != nil
	cancel()
	<-watch
	if t.r.cfg.Meter != nil {
		ended := outcomes[out.verb]
		if cut {
			ended = "cut_off"
		}
		t.r.cfg.Meter.Step(t.d.Name, ended, time.Since(begun))
	}
	if cut {
		// The outcome may be a consequence of the cancellation.
		t.Log.Info("cut off; the work is released")
		t.release(0)
		return nil
	}
	t.work = work
	t.settle(context.WithoutCancel(work), out)
	return t.next
}

// outcome runs the step, unless too many workers have died with the job. A job whose
// profile is missing waits for it.
func (t *turn) outcome(ctx context.Context) (out Outcome) {
	defer func() {
		if p := recover(); p != nil {
			t.Log.Error("a step panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out = fail(domain.Reason{Class: domain.ClassSystem, Code: reason.CodePanic,
				Message: "an internal error stopped the work; the operators find it in the log of worker " + t.Claim.Worker})
		}
	}()
	if t.Claim.Attempts > maxClaims {
		return fail(domain.Reason{Class: domain.ClassSystem, Code: domain.CodeClaimsUsedUp,
			Message: fmt.Sprintf("%d workers in a row ended without a result while they worked on it in this state", t.Claim.Attempts-1)})
	}
	ctx, done := t.r.steps.memory.Step(ctx)
	defer done()
	if t.batch != nil {
		return t.d.batchStep(t.r.steps, ctx, t.batch)
	}
	var err error
	if t.job.Profile, err = t.r.cfg.Profiles.Get(t.job.Job.Configuration.ProfileName); err != nil && !t.d.AnyProfile {
		if !profile.Missing(err) {
			return release(err)
		}
		return wait(domain.Reason{Code: domain.CodeProfileUnknown, Message: err.Error() + "; put it back"}, asideDelay)
	}
	if out := t.r.steps.leave(ctx, t.job); out != nil {
		return *out
	}
	return t.d.jobStep(t.r.steps, ctx, t.job)
}

// settle writes the outcome of the step.
func (t *turn) settle(ctx context.Context, out Outcome) {
	switch out.verb {
	case verbNext:
		t.commit(ctx, out)
	case verbFail:
		t.fail(ctx, out)
	case verbWait:
		if t.job != nil {
			t.r.awaited.Set(t.job.Job.ID, out.server)
		}
		t.note(ctx, domain.WaitJob{Reason: t.sign(out.reason), WaitsFor: out.before.Job})
		t.release(out.delay)
		if out.before != (order.Before{}) && !t.r.steps.order.Waits(t.job.Job.ID, out.before) { // it ended meanwhile
			t.r.cfg.Claims.Wake(ctx, t.job.Job.ID)
		}
	case verbRetry:
		t.retry(ctx, out)
	case verbTrouble:
		why := t.sign(out.reason)
		t.note(ctx, domain.WaitJob{Reason: waiting(why)})
		_, delay := t.again(out)
		t.Log.Warn("waits for our own side; trying again later", "code", why.Code, "delay", delay, "error", out.err)
		t.release(delay)
	case verbRelease:
		if out.err != nil {
			t.later("cannot go on at the moment; trying again later", out.err)
		} else {
			t.release(t.r.cfg.RetryDelay)
		}
	}
}

// commit writes the command of the outcome.
func (t *turn) commit(ctx context.Context, out Outcome) {
	err := crash.Around("daemon/turn/move", func() error {
		err := t.write(ctx, out)
		for n := 0; errors.Is(err, eventstore.ErrFull) && t.roomAwaited(n, err); n++ {
			err = t.write(ctx, out)
		}
		return err
	})
	switch {
	case err == nil:
		t.moved(ctx)
	case errors.Is(err, eventstore.ErrBroken) && t.d.Fails != "" && out.verb != verbFail:
		t.Log.Error("the result cannot be written", "error", err)
		t.fail(ctx, fail(domain.Reason{Class: domain.ClassSystem, Code: reason.CodeInternal, Message: "the result of the step could not be written: " + err.Error()}))
	case isRefused(err), errors.Is(err, eventstore.ErrConflict):
		// The batch or job has changed meanwhile: a hold was set, an operator changed
		// it, or the claim was lost. The next claim reads it again.
		t.Log.Info("not written; it is looked at again", "error", err)
		t.release(t.r.cfg.RetryDelay)
	default:
		t.later("cannot write the result; trying again later", err)
	}
}

// retry releases the claim for another attempt, with the reason in the job's status, or
// ends the work after the last one.
func (t *turn) retry(ctx context.Context, out Outcome) {
	n, delay := t.again(out)
	switch {
	case n < out.most:
		t.Log.Info("failed; trying again later", "code", out.reason.Code, "try", n, "of", out.most, "delay", delay, "error", out.err)
		t.note(ctx, domain.WaitJob{Reason: waiting(t.sign(out.reason))})
		t.release(delay)
	case out.then != nil:
		t.settle(ctx, *out.then)
	default:
		t.fail(ctx, out)
	}
}

// waiting returns why a job waits that has not failed.
func waiting(why domain.Reason) domain.Reason {
	why.Class = domain.ClassWait
	return why
}

// later releases the claim for a time that grows.
func (t *turn) later(message string, err error) {
	_, delay := t.again(Outcome{})
	t.Log.Warn(message, "delay", delay, "error", err)
	t.release(delay)
}

// roomAwaited pauses before a result is written again for which there was no room. It
// reports false if the claim is lost or the grace time is over.
func (t *turn) roomAwaited(n int, why error) bool {
	if n == 0 {
		t.Log.Warn("the result waits until there is room for its event", "error", why)
	}
	select {
	case <-time.After(max(t.r.cfg.RetryDelay, fullPause)):
		return true
	case <-t.Claim.Lost:
	case <-t.work.Done():
	}
	return false
}

func (t *turn) write(ctx context.Context, out Outcome) error {
	if t.batch != nil {
		return t.batch.write(ctx, out.batch, false)
	}
	d, admission, then := t.then(ctx, out)
	claim, err := t.job.write(ctx, out.job, false, then)
	switch {
	case claim != nil:
		t.next = t.r.jobTurn(d, claim, eventstore.Loaded[domain.Job]{State: t.job.Job, Token: t.job.token}, admission)
	case then != "":
		t.r.idle.Give(d.Name)
		admission.Leave()
	}
	return err
}

// then takes a free worker, and its admission, for the job's next state, "" = it is not handed over.
func (t *turn) then(ctx context.Context, out Outcome) (Daemon, *limits.Admission, domain.JobState) {
	if !t.r.cfg.HandOver || out.verb != verbNext || t.r.open == nil || t.r.open.Err() != nil {
		return Daemon{}, nil, ""
	}
	d, known := takes(t.d.Then)
	if !known || !t.r.idle.Take(d.Name) {
		return Daemon{}, nil, ""
	}
	admission := t.r.admission(d)
	if admission != nil && (!admission.Open(t.job.Job.Configuration.Submitter) || jobGate{admission, t.r, d}.Enter(ctx, t.job.Job) != "") {
		t.r.idle.Give(d.Name)
		return Daemon{}, nil, ""
	}
	return d, admission, t.d.Then
}

// fail writes the failure where the state has one, else sets the work aside.
func (t *turn) fail(ctx context.Context, out Outcome) {
	why := t.sign(out.reason)
	var cmd domain.JobCommand
	switch badDeposit := t.d.Job == domain.JobPending && why.Class == domain.ClassContent; {
	case badDeposit, t.d.Fails != "": // J5
		cmd = domain.FailJob{Reason: why, Object: out.object}
	case why.Code == domain.CodeSpaceNever: // J24
		cmd = domain.CancelJob{Reason: why}
	}
	if cmd != nil {
		t.Log.Info("failed", "class", why.Class, "code", why.Code, "reason", why.Message)
		t.commit(ctx, Outcome{verb: verbFail, job: cmd})
		return
	}
	t.Log.Error("set aside: it cannot go on and this state does not fail; an operator must look at it",
		"code", why.Code, "reason", why.Message, "delay", asideDelay)
	t.note(ctx, domain.WaitJob{Reason: waiting(why)})
	t.release(asideDelay)
}

// note writes why the job waits, unless that is its reason already. Batches have no
// such event.
func (t *turn) note(ctx context.Context, cmd domain.WaitJob) {
	why := cmd.Reason
	if t.job == nil || !t.job.Job.State.Worked() {
		return
	}
	if had := t.job.Job.Reason; had != nil && had.Class == why.Class && had.Code == why.Code && (had.Message == why.Message || why.Code != domain.CodeObjectLocked && why.Code != compute.CodeCompute) {
		return
	}
	if err := t.job.Keep(ctx, cmd); err != nil {
		t.Log.Warn("cannot write why the job waits", "code", why.Code, "error", err)
	}
}

// sign adds the attempt and the worker to a reason, and bounds the sentence.
func (t *turn) sign(why domain.Reason) domain.Reason {
	why.Message, why.Worker = reason.Bounded(why.Message), t.Claim.Worker
	if t.job != nil {
		why.Attempt = t.job.Job.RetryCount + 1
	}
	return why
}

// moved runs after a written command: if this was the last job of its batch, the
// batch's report begins.
func (t *turn) moved(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	t.r.tries.Done(t.Claim.Aggregate)
	if t.job != nil {
		t.r.awaited.Set(t.job.Job.ID, "")
	}
	// The rest does not need the claim.
	meta := eventstore.Meta{Actor: t.actor, TraceParent: t.trace.Parent()}
	if t.batch != nil {
		t.Log.Info("moved", "state", t.batch.Batch.State)
		if t.batch.Batch.State == domain.BatchProcessing {
			t.r.tryReport(ctx, t.batch.Batch.ID, meta)
		}
		return
	}
	j := t.job.Job
	t.Log.Info("moved", "state", j.State)
	if !j.Promised() {
		t.r.steps.space.Free(j.ID)
	}
	if j.State.Sub() != domain.SubProcessing && !j.Cleaned {
		t.r.tryReport(ctx, j.Configuration.BatchID, meta)
	}
}

// again counts one more release of the batch or job in its state, and returns how many
// there were and how long to pause.
func (t *turn) again(out Outcome) (n int, delay time.Duration) {
	n = t.r.tries.Again(t.Claim.Aggregate, t.round(), out.theirs())
	if out.theirs() {
		return n, t.r.cfg.pauses().Theirs(n, out.delay)
	}
	return n, t.r.cfg.pauses().Ours(n, out.delay)
}

// theirs reports whether an attempt at a depositor's server failed.
func (o Outcome) theirs() bool { return o.verb == verbRetry && !o.ours }

// round names the stay of the batch or job in its state, in which attempts are counted.
func (t *turn) round() string {
	if t.batch != nil {
		return string(t.batch.Batch.State)
	}
	return t.job.round()
}

// release ends the claim. It is the last thing done with it.
func (t *turn) release(delay time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	if err := t.r.cfg.Claims.Release(ctx, t.Claim, delay); err != nil {
		t.Log.Warn("cannot release the claim; it ends with the session", "error", err)
	}
}

// maxTries is how often in a row this process releases a job before it fails, after an
// object store has said that it has something else than the job's object.
const maxTries = 6
