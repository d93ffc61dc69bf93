package zklive

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

// holding reports whether the claim is one of this process and not yet ended.
// The fence /workers/ID tells sessions apart, but not two goroutines of one
// session: this registry does.
func (s *Store) holding(c *eventstore.Claim) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claimed[c.Aggregate] == c
}

func (s *Store) forget(c *eventstore.Claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claimed[c.Aggregate] == c {
		delete(s.claimed, c.Aggregate)
	}
	delete(s.doubted, c)
}

// doubt notes that a commit under the claim, nil = none, has an unknown outcome: the
// lock may have gone with it, and may be another's by now.
func (s *Store) doubt(c *eventstore.Claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c != nil && s.claimed[c.Aggregate] == c {
		s.doubted[c] = true
	}
}

func (s *Store) doubts(c *eventstore.Claim) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doubted[c]
}

// unreadable notes whether a batch or a job can be read.
func (s *Store) unreadable(a domain.Aggregate, broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if broken {
		s.broken[a] = true
	} else {
		delete(s.broken, a)
	}
}

// Unreadable counts the batches and jobs that this process could not read when
// their turn came.
func (s *Store) Unreadable() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.broken)
}

// ClaimJob implements eventstore.Claims.
func (s *Store) ClaimJob(ctx context.Context, id domain.JobID) (*eventstore.Claim, eventstore.Loaded[domain.Job], error) {
	h, err := s.holds.get(ctx)
	if err != nil {
		return nil, eventstore.Loaded[domain.Job]{}, err
	}
	return s.claimJob(ctx, id, h, nil)
}

// claimJob locks a job, again when only what was known of its batch was outdated.
func (s *Store) claimJob(ctx context.Context, id domain.JobID, h eventstore.Holds, fits func(domain.Job) error) (*eventstore.Claim, eventstore.Loaded[domain.Job], error) {
	for {
		c, at, err := s.tryClaimJob(ctx, id, h, fits)
		if !errors.Is(err, errBatch) || ctx.Err() != nil {
			return c, at, err
		}
	}
}

// tryClaimJob locks a job. Its status, its configuration and its count of claims
// are read first; the rest is read while the claim is made: nothing of a job
// changes without its status, and the claim proves that the status did not. fits
// may refuse the job as it is now.
func (s *Store) tryClaimJob(ctx context.Context, id domain.JobID, h eventstore.Holds, fits func(domain.Job) error) (*eventstore.Claim, eventstore.Loaded[domain.Job], error) {
	if at, known := s.queues.recall(id); known && fits != nil && fits(at.State) == nil {
		c, err := s.lockJob(ctx, at, 0, h)
		if !errors.Is(err, eventstore.ErrConflict) || errors.Is(err, eventstore.ErrLocked) || errors.Is(err, eventstore.ErrFenced) {
			return c, at, err
		}
	}
	var count claimCount
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { _, err := s.getJSON(gctx, s.paths.claims(id), &count); return err })
	asked := domain.Job{ID: id}
	g.Go(func() error { return s.jobConfiguration(gctx, &asked) })
	at, err := s.jobStatus(ctx, id)
	if part := g.Wait(); err == nil && part != nil {
		err = s.incomplete(ctx, id.Aggregate(), s.paths.jobStatus(id), part)
	}
	if err != nil {
		return nil, at, err
	}
	at.State.Configuration = asked.Configuration
	if fits != nil {
		if err := fits(at.State); err != nil {
			return nil, at, err
		}
	}
	claims := 0
	if count.Version == at.State.Version {
		claims = count.Claims
	}
	full := at // read into a copy of its own, beside the claim
	var rest errgroup.Group
	rest.Go(func() error { return s.jobRest(ctx, &full.State) })
	c, err := s.lockJob(ctx, at, claims, h)
	if rerr := rest.Wait(); err == nil && rerr != nil {
		s.giveBack(c, 0)
		return nil, at, rerr
	}
	return c, full, err
}

// lockJob is the claim's multi: this session is alive, the status, the holds and
// the status of the batch are as they were read, nobody has the lock; and the claim
// is counted.
func (s *Store) lockJob(ctx context.Context, at eventstore.Loaded[domain.Job], claims int, h eventstore.Holds) (*eventstore.Claim, error) {
	id, version, batch := at.State.ID, at.State.Version, at.State.Configuration.BatchID
	of, err := s.statuses.alive(ctx, batch)
	if err != nil {
		return nil, err
	}
	c, err := s.lock(ctx, id.Aggregate(), s.paths.jobStatus(id), at.Token, h, func(p *plan) {
		p.check(s.paths.batchStatus(batch), int32(of.token), errBatch)
		p.set(s.paths.claims(id), encode(claimCount{Version: version, Claims: claims + 1}), -1, eventstore.ErrConflict)
	})
	if errors.Is(err, errBatch) {
		s.statuses.forget(batch)
	}
	if err != nil {
		return nil, err
	}
	c.Attempts = claims + 1
	return c, nil
}

// ClaimBatch implements eventstore.Claims.
func (s *Store) ClaimBatch(ctx context.Context, id domain.BatchID) (*eventstore.Claim, eventstore.Loaded[domain.Batch], error) {
	h, err := s.holds.get(ctx)
	if err != nil {
		return nil, eventstore.Loaded[domain.Batch]{}, err
	}
	return s.claimBatch(ctx, id, h, nil)
}

func (s *Store) claimBatch(ctx context.Context, id domain.BatchID, h eventstore.Holds, fits func(domain.Batch) error) (*eventstore.Claim, eventstore.Loaded[domain.Batch], error) {
	at, err := s.Batch(ctx, id)
	if err != nil {
		return nil, at, err
	}
	if fits != nil {
		if err := fits(at.State); err != nil {
			return nil, at, err
		}
	}
	c, err := s.lock(ctx, id.Aggregate(), s.paths.batchStatus(id), at.Token, h, func(*plan) {})
	return c, at, err
}

// lock is the multi of a claim. With an unknown outcome the lock is looked at:
// the claim's own id stands in it.
func (s *Store) lock(ctx context.Context, a domain.Aggregate, status string, token eventstore.Token, h eventstore.Holds, more func(*plan)) (*eventstore.Claim, error) {
	w, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	c := &eventstore.Claim{ID: uuid.NewString(), Worker: w.id, Aggregate: a, Lost: w.lost}
	// A place in the registry first: of two goroutines only one sends the multi,
	// so that a lock found with this worker's name is this claim's.
	s.mu.Lock()
	if s.claimed[a] != nil || s.worker != w {
		s.mu.Unlock()
		return nil, &eventstore.Error{Op: "claim", Aggregate: a, Err: eventstore.ErrLocked}
	}
	s.claimed[a] = c
	s.mu.Unlock()

	p := &plan{}
	p.check(s.paths.worker(w.id), -1, eventstore.ErrFenced)
	p.check(status, int32(token), eventstore.ErrConflict)
	p.check(s.paths.locks(), int32(h.Version), errHolds)
	p.create(s.paths.lock(a), encode(holder{w.id}), zk.FlagEphemeral, eventstore.ErrLocked)
	more(p)
	v := s.groups.send(ctx, p)
	if v.err == nil {
		return c, nil
	}
	if answered(v.err) {
		s.forget(c)
		if errors.Is(v.meaning, errHolds) {
			s.holds.outdated()
		}
		return nil, &eventstore.Error{Op: "claim", Aggregate: a, Err: v.meaning}
	}
	s.abandon(c, 0)
	return nil, &eventstore.Error{Op: "claim", Aggregate: a, Err: v.err}
}

// Confirm implements eventstore.Claims. A multi, unlike a read, is answered by the
// leader. While ZooKeeper cannot be reached it waits.
func (s *Store) Confirm(ctx context.Context, c *eventstore.Claim) error {
	failed := func(err error) error {
		return &eventstore.Error{Op: "confirm the claim", Aggregate: c.Aggregate, Err: err}
	}
	for {
		p := &plan{}
		p.check(s.paths.worker(c.Worker), -1, eventstore.ErrFenced)
		p.check(s.paths.lock(c.Aggregate), -1, eventstore.ErrFenced)
		v := s.groups.send(ctx, p)
		if v.err == nil {
			return nil
		}
		if answered(v.err) {
			return failed(v.meaning)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-c.Lost:
			return failed(eventstore.ErrFenced)
		case <-ctx.Done():
			return failed(ctx.Err())
		}
	}
}

// Release implements eventstore.Claims. When ZooKeeper cannot be reached before
// ctx ends, the lock is given back as soon as it can be.
func (s *Store) Release(ctx context.Context, c *eventstore.Claim, delay time.Duration) error {
	if !s.holding(c) {
		return nil
	}
	if s.doubts(c) {
		s.abandon(c, delay)
		return nil
	}
	if err := s.unlock(ctx, c); err != nil {
		s.giveBack(c, delay)
		return err
	}
	s.offer(c, delay)
	return nil
}

// giveBack frees a lock that nobody works under any more, however long that
// takes: until then the claim stays in the registry, and its lock in the tree.
func (s *Store) giveBack(c *eventstore.Claim, delay time.Duration) {
	s.goes(func() {
		if s.unlock(s.ctx, c) == nil {
			s.offer(c, delay)
		}
	})
}

// abandon ends a claim with an unknown outcome: a lock that carries this worker's
// name is the claim's, any other is somebody else's and stays.
func (s *Store) abandon(c *eventstore.Claim, delay time.Duration) {
	s.goes(func() {
		for {
			ours, err := s.locks(s.ctx, c)
			if err == nil && ours {
				err = s.unlock(s.ctx, c)
			}
			if err == nil {
				break
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-s.ctx.Done():
				return
			}
		}
		s.forget(c)
		s.offer(c, delay)
	})
}

// locks reports whether the lock is held in the name of the claim's worker.
func (s *Store) locks(ctx context.Context, c *eventstore.Claim) (bool, error) {
	if err := s.sync(ctx); err != nil {
		return false, err
	}
	var h holder
	_, err := s.getJSON(ctx, s.paths.lock(c.Aggregate), &h)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return h.Holder == c.Worker, err
}

// offer puts what was given back into its queue again.
func (s *Store) offer(c *eventstore.Claim, delay time.Duration) {
	if c.Aggregate.Kind == domain.KindJob {
		s.queues.released(domain.JobID(c.Aggregate.ID), delay)
	} else {
		s.batches.released(domain.BatchID(c.Aggregate.ID), delay)
	}
}

// unlock deletes the claim's lock, if its session still lives, and only then
// leaves the registry.
func (s *Store) unlock(ctx context.Context, c *eventstore.Claim) error {
	for {
		select {
		case <-c.Lost:
			return nil // the lock went with the session
		case <-s.ctx.Done():
			return nil // and goes when it is closed
		default:
		}
		p := &plan{}
		p.check(s.paths.worker(c.Worker), -1, nil)
		p.delete(s.paths.lock(c.Aggregate), -1, nil)
		if c.Aggregate.Kind == domain.KindJob { // who hands work back has not died of it
			p.set(s.paths.claims(domain.JobID(c.Aggregate.ID)), encode(claimCount{}), -1, nil)
		}
		crash.Point("zklive/claim/before-release")
		_, err := call(ctx, func() ([]zk.MultiResponse, error) { return s.conn.Multi(p.ops...) })
		crash.Point("zklive/claim/after-release")
		if err == nil || answered(err) {
			s.forget(c)
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return &eventstore.Error{Op: "release", Aggregate: c.Aggregate, Err: ctx.Err()}
		}
	}
}
