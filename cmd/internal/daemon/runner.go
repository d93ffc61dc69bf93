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
}

// New checks the configuration, every fault of which is in the error.
func New(cfg Config) (*Runner, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &Runner{cfg: cfg, steps: newSteps(cfg), tries: newTries(cfg.RetryDelay)}, nil
}

// Run works until ctx ends and returns nil then. Steps that run at that moment
// have the grace time to end; after it they are cut off and their work is handed
// back.
func (r *Runner) Run(ctx context.Context) error {
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var all sync.WaitGroup
	for _, d := range Daemons {
		for range r.cfg.Workers[d.Name] {
			all.Go(func() { r.serve(ctx, work, d) })
		}
	}
	if r.cfg.Workers[domain.DaemonJanitor] > 0 {
		all.Go(func() { r.janitor(ctx) })
	}
	<-ctx.Done()
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
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
		t, err := r.claim(ctx, d)
		if err != nil {
			if ctx.Err() == nil {
				r.cfg.Log.Warn("cannot claim work; trying again", "daemon", d.Name, "error", err)
				pause(ctx, r.cfg.RetryDelay)
			}
			continue
		}
		t.run(work)
	}
}

func (r *Runner) claim(ctx context.Context, d Daemon) (*turn, error) {
	t := &turn{r: r, d: d, trace: eventstore.NewTrace()}
	actor := domain.DaemonActor(d.Name)
	if d.batchStep != nil {
		claim, at, err := r.cfg.Claims.NextBatch(ctx, d.Batch)
		if err != nil {
			return nil, err
		}
		t.claim, t.log = claim, r.logger(t, claim).With("batch", at.State.ID)
		t.batch = &BatchTask{Batch: at.State, Claim: claim, Log: t.log, handler: r.cfg.Handler, actor: actor, trace: t.trace}
		return t, nil
	}
	claim, at, err := r.cfg.Claims.NextJob(ctx, d.Job)
	if err != nil {
		return nil, err
	}
	t.claim = claim
	t.log = r.logger(t, claim).With("batch", at.State.Configuration.BatchID, "job", at.State.ID, "attempt", at.State.RetryCount+1)
	t.job = &JobTask{Job: at.State, token: at.Token, tries: r.tries, Claim: claim, Log: t.log, handler: r.cfg.Handler, actor: actor, trace: t.trace}
	return t, nil
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
