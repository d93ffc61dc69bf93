// Package answering answers queries: it grabs them from their deposit queue, each processor
// with workers of its own, and keeps the answers in the object store.
package answering

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/answer"
	"github.com/accession-ingest/accession/cmd/internal/daemon/limits"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/eventstore"
)

// every is how long a query waits that was left by a worker that died, and how long a
// change of the processors may stay unnoticed.
const every = 5 * time.Second

var actor = domain.DaemonActor("query")

// Service answers queries. All its fields are required but the retention.
type Service struct {
	Handler *eventstore.Handler
	Claims  eventstore.Claims
	Queues  eventstore.DepositQueues
	Objects *store.Store
	Sources answer.Sources
	Mailing Mailing
	Log     *slog.Logger
	// Retention is how long a query that has ended stays in the live state, 0 = for ever.
	Retention time.Duration

	tries *limits.Tries // in vain, by query
}

// Run answers queries until ctx ends. One that is being answered then is left to another
// process.
func (s *Service) Run(ctx context.Context) error {
	s.tries = limits.NewTries()
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { s.rescue(ctx) })
	type workers struct {
		n    int
		stop context.CancelFunc
	}
	running := map[string]workers{}
	for ctx.Err() == nil {
		changed := s.Queues.QueueSettingsChanged(fair.QueueQuery)
		is, err := s.Queues.QueueSettings(ctx, fair.QueueQuery)
		if err != nil {
			s.failed(ctx, err, "cannot read the processors of queries; trying again")
			continue
		}
		for name, was := range running {
			if p, there := is.Processors[name]; !there || p.Stopped || max(p.Workers, 1) != was.n {
				was.stop()
				delete(running, name)
			}
		}
		for name, p := range is.Processors {
			if _, there := running[name]; there || p.Stopped {
				continue
			}
			of, stop := context.WithCancel(ctx)
			running[name] = workers{max(p.Workers, 1), stop}
			for range running[name].n {
				all.Go(func() { s.work(of, ctx, name) })
			}
		}
		wait(ctx, changed, every)
	}
	for _, w := range running {
		w.stop()
	}
	return nil
}

// work is one worker of a processor. What it has grabbed it answers also after ctx has
// ended, until work ends.
func (s *Service) work(ctx, work context.Context, processor string) {
	for ctx.Err() == nil {
		res, err := s.Handler.GrabQuery(ctx, processor, meta(nil))
		switch {
		case err != nil:
			s.failed(ctx, err, "cannot grab a query; trying again", "processor", processor)
		case res.Claim == nil: // an earlier try has written it: it is claimed again
		default:
			s.serve(work, res.Claim, res.State)
		}
	}
}

// rescue answers the queries whose workers have died, and cleans up after those that have
// ended, until ctx ends.
func (s *Service) rescue(ctx context.Context) {
	var cleaned time.Time
	e := ended{s, map[domain.QueryID]bool{}}
	for ctx.Err() == nil {
		if err := s.orphans(ctx); err != nil {
			s.failed(ctx, err, "cannot look for queries of dead workers; trying again")
		}
		if time.Since(cleaned) > time.Minute {
			cleaned = time.Now()
			if err := e.removeLeft(ctx); err != nil {
				s.failed(ctx, err, "cannot clean up after queries that have ended; trying again")
			}
		}
		wait(ctx, nil, every)
	}
}

// orphans answers the running queries that no worker holds.
func (s *Service) orphans(ctx context.Context) error {
	ids, err := s.Handler.Rings.RunningIn(ctx, fair.QueueQuery)
	if err != nil {
		return err
	}
	for _, id := range ids {
		a := domain.QueryID(id).Aggregate()
		locked, err := s.Handler.Live.Locked(ctx, a)
		if err != nil {
			return err
		}
		if len(locked) > 0 {
			continue
		}
		claim, at, err := s.Handler.Queries.ClaimQuery(ctx, domain.QueryID(id))
		switch {
		case err == nil:
			s.Log.Info("a query whose worker has died is answered again", "query", id)
			s.serve(ctx, claim, at.State)
		case !errors.Is(err, eventstore.ErrConflict) && !errors.Is(err, eventstore.ErrLocked) && !errors.Is(err, eventstore.ErrNotFound):
			return err
		}
	}
	return nil
}

// serve answers a claimed query. What is not the fault of the query itself is tried again.
func (s *Service) serve(ctx context.Context, claim *eventstore.Claim, q lookup.Query) {
	claimed, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		s.whileRunning(claimed, claim, q.ID)
		stop()
	}()
	url, err := s.end(claimed, claim, q)
	over := err == nil
	if !over {
		if err := s.Claims.Release(context.WithoutCancel(ctx), claim, 0); err != nil {
			s.Log.Warn("a claim is released later", "query", q.ID, "error", err)
		}
		at, lerr := s.Handler.Queries.LoadQuery(ctx, q.ID)
		over = lerr == nil && at.State.State.Ended() && at.State.Answer == nil // an operator has ended it
	}
	switch {
	case over:
		s.tries.Done(q.ID.Aggregate())
		if err := s.discard(ctx, q.ID, url); err != nil {
			s.Log.Warn("answers of dead workers are removed later", "query", q.ID, "error", err)
		}
	case ctx.Err() == nil:
		s.Log.Warn("a query is not answered yet; trying again", "query", q.ID, "error", err)
	}
}

// whileRunning returns when the claim is lost, the query has ended, or ctx ends.
func (s *Service) whileRunning(ctx context.Context, claim *eventstore.Claim, id domain.QueryID) {
	look := time.NewTicker(every)
	defer look.Stop()
	for {
		select {
		case <-claim.Lost:
			return
		case <-claim.Silent:
			return
		case <-ctx.Done():
			return
		case <-look.C:
			if at, err := s.Handler.Queries.LoadQuery(ctx, id); err == nil && at.State.State.Ended() {
				return
			}
		}
	}
}

func meta(c *eventstore.Claim) eventstore.Meta {
	return eventstore.Meta{Actor: actor, Claim: c, TraceParent: eventstore.NewTrace().Parent()}
}

func (s *Service) failed(ctx context.Context, err error, what string, with ...any) {
	if ctx.Err() == nil {
		s.Log.Warn(what, append(with, "error", err)...)
		wait(ctx, nil, time.Second)
	}
}

// wait returns when something has changed, after a time, or when ctx ends.
func wait(ctx context.Context, changed <-chan struct{}, most time.Duration) {
	select {
	case <-changed:
	case <-time.After(most):
	case <-ctx.Done():
	}
}
