package daemon

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Runner runs the daemons: it claims, lets the step work, and writes what comes
// of it. It is the only one that writes.
type Runner struct {
	cfg   Config
	steps *steps
	tries *tries
	slots *slots
	// open ends when nothing new is begun any more; nil = Run was not called.
	open context.Context
	all  sync.WaitGroup
}

// New checks the configuration, every fault of which is in the error.
func New(cfg Config) (*Runner, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &Runner{cfg: cfg, steps: newSteps(cfg), tries: newTries(cfg.RetryDelay), slots: newSlots(cfg.Workers)}, nil
}

// Run works until ctx ends and returns nil then. Steps that run at that moment
// have the grace time to end; after it they are cut off and their work is handed
// back.
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
	ended := make(chan struct{})
	go func() { r.all.Wait(); close(ended) }()
	grace := time.NewTimer(r.cfg.Grace)
	defer grace.Stop()
	select {
	case <-ended:
	case <-grace.C:
		r.cfg.Log.Warn("daemons still work after the grace time and are cut off; their work is handed back", "grace", r.cfg.Grace)
		cut()
		<-ended
	}
	return r.steps.close()
}

// serve is one worker: it takes one batch or job after the other until ctx ends.
// Steps run under work, which ends later.
func (r *Runner) serve(ctx, work context.Context, d Daemon) {
	for ctx.Err() == nil {
		r.slots.wait(ctx, d.Name)
		t, err := r.claim(ctx, d)
		if err != nil {
			if ctx.Err() == nil {
				r.cfg.Log.Warn("cannot claim work; trying again", "daemon", d.Name, "error", err)
				pause(ctx, r.cfg.RetryDelay)
			}
			continue
		}
		if !r.slots.take(d.Name) { // jobs that were handed over meanwhile have them all
			t.release(0)
			continue
		}
		r.run(work, t)
	}
}

// run lets a turn come to its end, and the next turn of a job that was handed over
// on a goroutine of its own, so that this daemon keeps its worker.
func (r *Runner) run(work context.Context, t *turn) {
	next := t.run(work)
	r.slots.give(t.d.Name)
	if next != nil {
		r.all.Go(func() { r.run(work, next) })
	}
}

func (r *Runner) claim(ctx context.Context, d Daemon) (*turn, error) {
	if d.batchStep != nil {
		t := &turn{r: r, d: d, trace: eventstore.NewTrace()}
		claim, at, err := r.cfg.Claims.NextBatch(ctx, d.Batch)
		if err != nil {
			return nil, err
		}
		t.claim, t.log = claim, r.logger(t, claim).With("batch", at.State.ID)
		t.batch = &BatchTask{Batch: at.State, Claim: claim, Log: t.log, handler: r.cfg.Handler,
			actor: domain.DaemonActor(d.Name), trace: t.trace}
		return t, nil
	}
	claim, at, err := r.cfg.Claims.NextJob(ctx, d.Job)
	if err != nil {
		return nil, err
	}
	return r.jobTurn(d, claim, at), nil
}

func (r *Runner) jobTurn(d Daemon, claim *eventstore.Claim, at eventstore.Loaded[domain.Job]) *turn {
	t := &turn{r: r, d: d, claim: claim, trace: eventstore.NewTrace()}
	t.log = r.logger(t, claim).With("batch", at.State.Configuration.BatchID, "job", at.State.ID, "attempt", at.State.RetryCount+1)
	t.job = &JobTask{Job: at.State, token: at.Token, tries: r.tries, Claim: claim, Log: t.log, handler: r.cfg.Handler,
		actor: domain.DaemonActor(d.Name), trace: t.trace}
	return t
}

func (r *Runner) logger(t *turn, c *eventstore.Claim) *slog.Logger {
	return r.cfg.Log.With("daemon", t.d.Name, "worker", c.Worker, "claim", c.ID, "trace", t.trace.ID())
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// slots counts the turns that are under way of each daemon, so that jobs handed over
// and jobs claimed together are no more than its workers.
type slots struct {
	mu    sync.Mutex
	free  map[string]int
	freed chan struct{} // closed when one is given back
}

func newSlots(workers map[string]int) *slots {
	s := &slots{free: make(map[string]int, len(workers)), freed: make(chan struct{})}
	for name, n := range workers {
		s.free[name] = n
	}
	return s
}

// take takes a slot of a daemon, if there is one.
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

// Meter is told how the steps of daemons end.
type Meter interface {
	Step(daemon, outcome string, took time.Duration)
}

// The outcomes of a step, as a meter is told them.
var outcomes = map[verb]string{
	verbNext: "moved", verbFail: "failed", verbWait: "waits", verbRetry: "retried", verbHandBack: "handed_back",
}

// meter tells of a step, cut when it was cut off.
func (r *Runner) meter(d Daemon, out Outcome, cut bool, took time.Duration) {
	if r.cfg.Meter == nil {
		return
	}
	word := outcomes[out.verb]
	if cut {
		word = "cut_off"
	}
	r.cfg.Meter.Step(d.Name, word, took)
}
