package daemon

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Runner runs the daemons: it claims a batch or job, runs the step and writes its
// outcome. Only the runner writes the live state.
type Runner struct {
	cfg   Config
	steps *steps
	tries *tries
	slots *slots
	// open ends when no new work may begin; nil = Run was not called.
	open context.Context
	all  sync.WaitGroup
}

// New returns a runner. The error lists all faults of the configuration.
func New(cfg Config) (*Runner, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &Runner{cfg: cfg, steps: newSteps(cfg), tries: &tries{cfg: &cfg, by: map[domain.Aggregate]try{}}, slots: newSlots(cfg.Workers)}, nil
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
	return r.steps.close()
}

// serve is one worker: it takes one batch or job after the other until ctx ends.
// Steps run under work, which ends later.
func (r *Runner) serve(ctx, work context.Context, d Daemon) {
	for ctx.Err() == nil {
		r.slots.wait(ctx, d.Name)
		t, err := r.claim(ctx, d)
		switch {
		case err != nil:
			r.failed(ctx, err, "cannot claim work; trying again", "daemon", d.Name)
		case !r.slots.take(d.Name): // jobs that were handed over meanwhile have them all
			t.release(0)
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
	r.slots.give(t.d.Name)
	if next != nil {
		r.all.Go(func() { r.run(work, next) })
	}
}

func (r *Runner) claim(ctx context.Context, d Daemon) (*turn, error) {
	if d.Job != "" {
		claim, is, err := r.cfg.Claims.NextJob(ctx, d.Job)
		if err != nil {
			return nil, err
		}
		return r.jobTurn(d, claim, is), nil
	}
	claim, is, err := r.cfg.Claims.NextBatch(ctx, d.Batch)
	if err != nil {
		return nil, err
	}
	t := r.turn(d, claim, "batch", is.State.ID)
	t.batch = &BatchTask{task: t.task, Batch: is.State}
	return t, nil
}

func (r *Runner) jobTurn(d Daemon, claim *eventstore.Claim, is eventstore.Loaded[domain.Job]) *turn {
	t := r.turn(d, claim, "batch", is.State.Configuration.BatchID, "job", is.State.ID, "attempt", is.State.RetryCount+1)
	t.job = &JobTask{task: t.task, Job: is.State, token: is.Token, tries: r.tries}
	return t
}

// turn returns a turn whose log lines carry args.
func (r *Runner) turn(d Daemon, c *eventstore.Claim, args ...any) *turn {
	trace := eventstore.NewTrace()
	log := r.cfg.Log.With("daemon", d.Name, "worker", c.Worker, "claim", c.ID, "trace", trace.ID()).With(args...)
	return &turn{r: r, d: d, task: task{Claim: c, Log: log, handler: r.cfg.Handler, actor: domain.DaemonActor(d.Name), trace: trace}}
}

// pause returns after a time, or when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// slots counts the running turns of each daemon, so that jobs that were handed over and
// jobs that were claimed together do not exceed its workers.
type slots struct {
	mu    sync.Mutex
	free  map[string]int
	freed chan struct{} // closed when a slot is released
}

func newSlots(workers map[string]int) *slots {
	return &slots{free: maps.Clone(workers), freed: make(chan struct{})}
}

// take reports whether it took a free slot of a daemon.
func (s *slots) take(daemon string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free[daemon] <= 0 {
		return false
	}
	s.free[daemon]--
	return true
}

func (s *slots) give(daemon string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free[daemon]++
	close(s.freed)
	s.freed = make(chan struct{})
}

// wait waits until a daemon has a free slot, or ctx ends.
func (s *slots) wait(ctx context.Context, daemon string) {
	for {
		s.mu.Lock()
		free, freed := s.free[daemon], s.freed
		s.mu.Unlock()
		if free > 0 {
			return
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return
		}
	}
}
