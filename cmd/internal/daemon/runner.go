package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/limits"
	"github.com/accession-ingest/accession/cmd/internal/daemon/queue"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair/settings"
	"github.com/accession-ingest/accession/eventstore"
)

// Runner runs the daemons: it claims a batch or job, runs the step and writes its
// outcome. Only the runner writes the live state.
type Runner struct {
	cfg   Config
	steps *steps
	tries *limits.Tries
	idle  *limits.Workers
	gates *limits.Gates
	// awaited has the servers for which jobs wait that only their manifests name.
	awaited limits.Awaited
	// pending claims batches that are to be listed.
	pending queue.Pending
	resting queue.Resting
	// running are the steps that end early when their job is failed by an operator.
	running limits.Running
	// open ends when no new work may begin; nil = Run was not called.
	open context.Context
	all  sync.WaitGroup
}

// New returns a runner. The error lists all faults of the configuration.
func New(cfg Config) (*Runner, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &Runner{cfg: cfg, steps: newSteps(cfg), tries: limits.NewTries(), idle: limits.NewWorkers(cfg.Workers),
		pending: queue.Pending{Handler: cfg.Handler, Claims: cfg.Claims, Log: cfg.Log}, resting: queue.Resting{Handler: cfg.Handler, Log: cfg.Log},
		gates: limits.NewGates(cfg.Workers, cfg.Hosts, limits.Most{Host: cfg.HostPermits, Submitter: cfg.SubmitterPermits}, cfg.Rests)}, nil
}

// Run works until ctx ends and returns nil then. Steps that run at that moment have the
// grace time to end; then they are cancelled and their work is released.
func (r *Runner) Run(ctx context.Context) error {
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	r.open = ctx
	for _, d := range Daemons {
		if d.Job == domain.JobProvisioning && r.cfg.Workers[d.Name] > 0 {
			r.all.Go(func() { r.provision(ctx, work, d) })
			continue
		}
		for range r.cfg.Workers[d.Name] {
			r.all.Go(func() { r.serve(ctx, work, d) })
		}
		if d.Batch == domain.BatchPending && r.cfg.Workers[d.Name] > 0 && r.cfg.Queues != nil {
			r.all.Go(func() { r.serveProcessors(ctx, work, d) })
		}
	}
	if r.cfg.Workers[domain.DaemonJanitor] > 0 {
		r.all.Go(func() { r.janitor(ctx) })
	}
	<-ctx.Done()
	grace := time.AfterFunc(r.cfg.Grace, func() {
		r.cfg.Log.Warn("daemons still work after the grace time and are cut off; their work is released", "grace", r.cfg.Grace)
		cut()
	})
	defer grace.Stop()
	r.all.Wait()
	return r.steps.Close()
}

// serve is one worker: it takes one batch or job after the other until ctx ends.
// Steps run under work, which ends later.
func (r *Runner) serve(ctx, work context.Context, d Daemon) {
	for ctx.Err() == nil {
		r.idle.Wait(ctx, d.Name)
		t, err := r.claim(ctx, d)
		switch {
		case err != nil:
			r.failed(ctx, err, "cannot claim work; trying again", "daemon", d.Name)
		case !r.idle.Take(d.Name): // jobs that were handed over meanwhile have them all
			t.release(0)
			t.admission.Leave()
		default:
			r.run(work, t)
		}
	}
}

// failed logs what stopped a worker and pauses, unless ctx has ended.
func (r *Runner) failed(ctx context.Context, err error, message string, args ...any) {
	if ctx.Err() == nil {
		r.cfg.Log.Warn(message, append(args, "error", err)...)
		pause(ctx, r.cfg.RetryDelay)
	}
}

// run runs a turn to its end, and the next turn of a job that was handed over on a
// goroutine of its own, so that this daemon keeps its worker.
func (r *Runner) run(work context.Context, t *turn) {
	next := t.run(work)
	r.idle.Give(t.d.Name)
	if next != nil {
		r.all.Go(func() { r.run(work, next) })
	}
}

func (r *Runner) claim(ctx context.Context, d Daemon) (*turn, error) {
	admission := r.admission(d)
	if d.Job != "" {
		claim, is, err := r.cfg.Claims.NextJob(ctx, d.Job, r.jobGate(d, admission))
		if err != nil {
			return nil, err
		}
		return r.jobTurn(d, claim, is, admission), nil
	}
	claim, batch, err := r.claimBatch(ctx, d, r.batchGate(admission))
	if err != nil {
		return nil, err
	}
	return r.batchTurn(d, claim, batch, admission), nil
}

func (r *Runner) claimBatch(ctx context.Context, d Daemon, gate eventstore.Gate[domain.Batch]) (*eventstore.Claim, domain.Batch, error) {
	if d.Batch == domain.BatchPending {
		return r.pending.Next(ctx, settings.Default, gate)
	}
	claim, is, err := r.cfg.Claims.NextBatch(ctx, d.Batch, gate)
	return claim, is.State, err
}

func (r *Runner) batchTurn(d Daemon, claim *eventstore.Claim, batch domain.Batch, admission *limits.Admission) *turn {
	t := r.turn(d, claim, admission, "batch", batch.ID)
	t.batch = &BatchTask{task: t.task, Batch: batch}
	return t
}

func (r *Runner) jobTurn(d Daemon, claim *eventstore.Claim, is eventstore.Loaded[domain.Job], admission *limits.Admission) *turn {
	t := r.turn(d, claim, admission, "batch", is.State.Configuration.BatchID, "job", is.State.ID, "attempt", is.State.RetryCount+1)
	t.job = &JobTask{task: t.task, Job: is.State, token: is.Token, tries: r.tries}
	return t
}

// turn returns a turn whose log lines carry args.
func (r *Runner) turn(d Daemon, c *eventstore.Claim, admission *limits.Admission, args ...any) *turn {
	trace := eventstore.NewTrace()
	log := r.cfg.Log.With("daemon", d.Name, "worker", c.Worker, "claim", c.ID, "trace", trace.ID()).With(args...)
	return &turn{r: r, d: d, task: task{Claim: c, admission: admission, Log: log, handler: r.cfg.Handler, actor: domain.DaemonActor(d.Name), trace: trace}}
}

// pause returns after a time, or when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
