package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

// Limits of a turn.
const (
	// maxClaims is how many workers may die of one job in one state.
	maxClaims = 10
	// asideDelay is how long work that cannot go on is left alone here.
	asideDelay = 10 * time.Minute
	// fullPause is how long a result waits at least before there may be room for it.
	fullPause = 200 * time.Millisecond
)

// turn is one claim from its beginning to its end.
type turn struct {
	r     *Runner
	d     Daemon
	claim *eventstore.Claim
	trace eventstore.Trace
	work  context.Context // of the step; a result that must wait for room waits as long
	log   *slog.Logger
	batch *BatchTask // exactly one of the two is set
	job   *JobTask
	next  *turn // of a job that was handed over
}

// run lets the step work and ends the claim. It gives the next turn of a job that
// was handed over, whose slot is taken.
func (t *turn) run(work context.Context) *turn {
	if t.d.Job == domain.JobProvisioning {
		defer t.r.steps.space.landed(t.job.Job.ID)
	}
	ctx, cancel := context.WithCancel(work)
	watch := make(chan struct{})
	go func() {
		defer close(watch)
		select {
		case <-t.claim.Lost:
			cancel()
		case <-ctx.Done():
		}
	}()
	begun := time.Now()
	out := t.outcome(ctx)
	cut := ctx.Err() != nil
	cancel()
	<-watch
	t.r.meter(t.d, out, cut, time.Since(begun))
	if cut {
		// What the step says may be a consequence of being cut off.
		t.log.Info("cut off; the work is handed back")
		t.release(0)
		return nil
	}
	t.work = work
	t.settle(context.WithoutCancel(work), out)
	return t.next
}

// outcome runs the step, unless the job's workers keep dying.
func (t *turn) outcome(ctx context.Context) (out Outcome) {
	defer func() {
		if p := recover(); p != nil {
			t.log.Error("a step panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			out = fail(domain.Reason{Class: domain.ClassSystem, Code: CodePanic,
				Message: "an internal error stopped the work; the operators find it in the log of worker " + t.claim.Worker})
		}
	}()
	if t.claim.Attempts > maxClaims {
		return fail(domain.Reason{Class: domain.ClassSystem, Code: domain.CodeClaimsUsedUp,
			Message: fmt.Sprintf("%d workers in a row ended without a result while they worked on it in this state", t.claim.Attempts-1)})
	}
	if t.batch != nil {
		return t.d.batchStep(t.r.steps, ctx, t.batch)
	}
	return t.d.jobStep(t.r.steps, ctx, t.job)
}

// settle writes what came of the step.
func (t *turn) settle(ctx context.Context, out Outcome) {
	switch out.verb {
	case verbNext:
		t.commit(ctx, out)
	case verbFail:
		t.fail(ctx, out.reason)
	case verbWait:
		t.wait(ctx, out)
	case verbRetry:
		n, delay := t.again()
		if n >= maxTries {
			t.fail(ctx, out.reason)
			return
		}
		t.log.Warn("tried in vain; trying again later", "code", out.reason.Code, "tries", n, "delay", delay, "error", out.err)
		t.release(delay)
	case verbHandBack:
		delay := t.r.cfg.RetryDelay
		if out.err != nil {
			_, delay = t.again()
			t.log.Warn("cannot go on at the moment; trying again later", "delay", delay, "error", out.err)
		}
		t.release(delay)
	}
}

// commit writes the command of the outcome.
func (t *turn) commit(ctx context.Context, out Outcome) {
	crash.Point("daemon/turn/before-move")
	err := t.write(ctx, out)
	for n := 0; errors.Is(err, eventstore.ErrFull) && t.held(n, err); n++ {
		err = t.write(ctx, out)
	}
	crash.Point("daemon/turn/after-move")
	var refused *domain.Refused
	switch {
	case err == nil:
		t.moved(ctx)
	case errors.Is(err, eventstore.ErrBroken) && t.d.Fails != "" && out.verb != verbFail:
		t.log.Error("the result cannot be written", "error", err)
		t.fail(ctx, domain.Reason{Class: domain.ClassSystem, Code: CodeInternal, Message: "the result of the step could not be written: " + err.Error()})
	case errors.As(err, &refused), errors.Is(err, eventstore.ErrConflict):
		// It changed under our hands: a hold was set, an operator was faster, the
		// claim is gone. Whoever takes it next sees it as it is then.
		t.log.Info("not written; it is looked at again", "error", err)
		t.release(t.r.cfg.RetryDelay)
	default:
		_, delay := t.again()
		t.log.Warn("cannot write the result; trying again later", "delay", delay, "error", err)
		t.release(delay)
	}
}

// held waits a little with a result for which there is no room. It gives false when
// the claim is lost or the service stops hard.
func (t *turn) held(n int, why error) bool {
	if n == 0 {
		t.log.Warn("the result waits until there is room for its event", "error", why)
	}
	timer := time.NewTimer(max(t.r.cfg.RetryDelay, fullPause))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.claim.Lost:
		return false
	case <-t.work.Done():
		return false
	}
}

func (t *turn) write(ctx context.Context, out Outcome) error {
	if t.batch != nil {
		return t.batch.write(ctx, out.batch, false)
	}
	d, then := t.then(out)
	claim, err := t.job.write(ctx, out.job, false, then)
	switch {
	case claim != nil:
		t.next = t.r.jobTurn(d, claim, eventstore.Loaded[domain.Job]{State: t.job.Job, Token: t.job.token})
	case then != "":
		t.r.slots.give(d.Name)
	}
	return err
}

// then takes a slot for the job's next state, "" = it is not handed over.
func (t *turn) then(out Outcome) (Daemon, domain.JobState) {
	if !t.r.cfg.HandOver || out.verb != verbNext || t.r.open == nil || t.r.open.Err() != nil {
		return Daemon{}, ""
	}
	d, known := takes(t.d.Then)
	if !known || !t.r.slots.take(d.Name) {
		return Daemon{}, ""
	}
	return d, t.d.Then
}

// fail writes the failure where the state has one, else sets the work aside.
func (t *turn) fail(ctx context.Context, why domain.Reason) {
	why = t.sign(why)
	badDeposit := t.d.Job == domain.JobPending && why.Class == domain.ClassContent // J5
	if t.d.Fails == "" && !badDeposit {
		t.aside(ctx, why)
		return
	}
	t.log.Info("failed", "class", why.Class, "code", why.Code, "reason", why.Message)
	t.commit(ctx, Outcome{verb: verbFail, job: domain.FailJob{Reason: why}})
}

// aside leaves alone what this state cannot fail, and tells the operators.
func (t *turn) aside(ctx context.Context, why domain.Reason) {
	t.log.Error("set aside: it cannot go on and this state does not fail; an operator must look at it",
		"code", why.Code, "reason", why.Message, "delay", asideDelay)
	if t.job != nil && t.job.Job.State.Worked() {
		why.Class = domain.ClassWait
		t.tell(ctx, why)
	}
	t.release(asideDelay)
}

func (t *turn) wait(ctx context.Context, out Outcome) {
	t.tell(ctx, t.sign(out.reason))
	t.release(out.delay)
}

// tell writes why the job waits, unless that stands there already.
func (t *turn) tell(ctx context.Context, why domain.Reason) {
	if had := t.job.Job.Reason; had != nil && had.Class == why.Class && had.Code == why.Code {
		return
	}
	if err := t.job.Keep(ctx, domain.WaitJob{Reason: why}); err != nil {
		t.log.Warn("cannot tell why the job waits", "code", why.Code, "error", err)
	}
}

// sign adds which attempt it was and whose, and bounds the sentence.
func (t *turn) sign(why domain.Reason) domain.Reason {
	why.Message, why.Worker = bounded(why.Message), t.claim.Worker
	if t.job != nil {
		why.Attempt = t.job.attempt()
	}
	return why
}

// moved follows a written command: the batch's report begins when this was its last
// job.
func (t *turn) moved(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	t.r.tries.done(t.claim.Aggregate)
	switch {
	case t.batch != nil:
		t.log.Info("moved", "state", t.batch.Batch.State)
		if t.batch.Batch.State == domain.BatchProcessing {
			t.r.tryReport(ctx, t.batch.Batch.ID, t.order())
		}
	default:
		t.log.Info("moved", "state", t.job.Job.State)
		if !t.job.Job.Promised() {
			t.r.steps.space.free(t.job.Job.ID)
		}
		if t.job.Job.State.Sub() != domain.SubProcessing && !t.job.Job.Cleaned {
			t.r.tryReport(ctx, t.job.Job.Configuration.BatchID, t.order())
		}
	}
}

// order is what commands carry that follow from this turn, without its claim.
func (t *turn) order() eventstore.Meta {
	return eventstore.Meta{Actor: domain.DaemonActor(t.d.Name), TraceParent: t.trace.Parent()}
}

func (t *turn) again() (int, time.Duration) {
	var version int64
	if t.batch != nil {
		version = t.batch.Batch.Version
	} else {
		version = t.job.Job.Version
	}
	return t.r.tries.again(t.claim.Aggregate, version)
}

// release gives the claim back. It is the last thing done with it.
func (t *turn) release(delay time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	if err := t.r.cfg.Claims.Release(ctx, t.claim, delay); err != nil {
		t.log.Warn("cannot give the claim back; it ends with the session", "error", err)
	}
}

// maxTries is how often in a row this process gives a job back for the same
// trouble before it fails; maxDelay bounds the pause in between.
const (
	maxTries = 6
	maxDelay = time.Minute
)

// tries counts how often work was given back in a row, for the pause that grows.
// It is kept in memory: after a restart everything may be tried again.
type tries struct {
	first time.Duration
	mu    sync.Mutex
	by    map[domain.Aggregate]try
}

type try struct {
	version int64
	n       int
}

func newTries(first time.Duration) *tries {
	return &tries{first: first, by: map[domain.Aggregate]try{}}
}

// again counts one more for the aggregate as it is now, and gives how many there
// were and how long to pause.
func (t *tries) again(a domain.Aggregate, version int64) (n int, delay time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	is := t.by[a]
	if is.version != version {
		is = try{version: version}
	}
	is.n++
	t.by[a] = is
	delay = t.first << min(is.n-1, 10)
	return is.n, min(delay, max(maxDelay, t.first))
}

// count gives how often work on the aggregate as it is now was given back.
func (t *tries) count(a domain.Aggregate, version int64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if is := t.by[a]; is.version == version {
		return is.n
	}
	return 0
}

// done forgets an aggregate that moved on.
func (t *tries) done(a domain.Aggregate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.by, a)
}
