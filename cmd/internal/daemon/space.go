package daemon

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

const (
	// promisesParallel is how many promises are read at once.
	promisesParallel = 32
	// recountEvery bounds how often jobs that wait for space have the promises
	// counted again, and recountAfter how long they are relied on without that.
	recountEvery, recountAfter = time.Second, 10 * time.Second
)

// space is the account of the working space that is promised to jobs which have not
// written it yet. One process at a time keeps it, under a lead: it counts the
// promises in the live state when its lead begins, adds its own, and follows those
// that begin and end in other processes. What is written shows as less free space.
type space struct {
	in      eventstore.Space
	log     *slog.Logger
	clock   func() time.Time
	dirOf   func(profile string) string
	asking  sync.Mutex // held while asking or counting
	counted time.Time  // when it was last counted; under asking

	mu       sync.Mutex
	term     *eventstore.Token // nil = another process leads
	promised map[domain.JobID]promise
	sums     map[string]int64      // bytes by working directory
	unread   map[domain.JobID]bool // promised elsewhere, and not counted yet
}

type promise struct {
	dir     string // of which working directory
	bytes   int64
	version int64 // of the job, once it is promised
	flying  bool  // given here, and the write may not have landed yet
}

func newSpace(cfg Config) *space {
	return &space{in: cfg.Space, log: cfg.Log, clock: cfg.Handler.Clock, dirOf: func(name string) string {
		p, _ := cfg.Profiles.Get(name) // of a profile that is gone: the installation's
		return p.WorkingDir
	}}
}

// lead waits until this process keeps the account, and counts.
func (s *space) lead(ctx context.Context) (context.Context, func(), error) {
	lead, term, resign, err := s.in.LeadSpace(ctx)
	if err != nil {
		return nil, nil, err
	}
	s.asking.Lock()
	defer s.asking.Unlock()
	s.mu.Lock()
	s.promised, s.sums, s.unread, s.term = map[domain.JobID]promise{}, map[string]int64{}, map[domain.JobID]bool{}, &term
	s.mu.Unlock()
	end := func() {
		s.mu.Lock()
		s.term = nil
		s.mu.Unlock()
		resign()
	}
	if err := s.count(lead); err != nil {
		end()
		return nil, nil, errors.Join(errUncounted, err)
	}
	return lead, end, nil
}

// count makes the account what the live state says. A promise of which it is not
// known yet whether it was written stays.
func (s *space) count(ctx context.Context) error {
	at := s.clock()
	s.mu.Lock()
	gone := make(map[domain.JobID]bool, len(s.promised))
	for id, p := range s.promised {
		if !p.flying {
			gone[id] = true
		}
	}
	s.mu.Unlock()
	ids, err := s.in.Promised(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	for _, id := range ids {
		delete(gone, id)
		if _, known := s.promised[id]; !known {
			s.unread[id] = true
		}
	}
	for id := range gone {
		s.drop(id)
	}
	s.mu.Unlock()
	if err = s.read(ctx); err == nil {
		s.counted = at
	}
	return err
}

// read counts what was promised elsewhere.
func (s *space) read(ctx context.Context) error {
	s.mu.Lock()
	ids := slices.Collect(maps.Keys(s.unread))
	s.mu.Unlock()
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(promisesParallel)
	for _, id := range ids {
		g.Go(func() error {
			is, err := s.in.Promise(gctx, id)
			if err != nil && !errors.Is(err, eventstore.ErrNotFound) && !errors.Is(err, eventstore.ErrBroken) {
				return err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.unread, id)
			switch {
			case err == nil:
				s.keep(id, promise{dir: s.dirOf(is.Profile), bytes: is.Bytes, version: is.Version})
			case errors.Is(err, eventstore.ErrBroken):
				s.log.Error("a promise of working space is not counted", "job", id, "error", err)
			}
			return nil
		})
	}
	return g.Wait()
}

// keep and drop change the account and its sums. The mutex is held.
func (s *space) keep(id domain.JobID, p promise) {
	s.drop(id)
	s.promised[id] = p
	s.sums[p.dir] += p.bytes
}

func (s *space) drop(id domain.JobID) {
	p, known := s.promised[id]
	if !known {
		return
	}
	delete(s.promised, id)
	if s.sums[p.dir] -= p.bytes; s.sums[p.dir] == 0 {
		delete(s.sums, p.dir)
	}
}

// errUncounted: the promises of other processes are unknown, so that nothing is promised.
var errUncounted = errors.New("the promises of working space cannot be counted")

// answer to a job that asks for space.
type answer struct {
	ok   bool
	free int64             // in the working directory
	left int64             // of it to promise
	term *eventstore.Token // nil = this process does not keep the account
}

// ask promises the job the bytes it needs if they fit beside what others were
// promised and the reserve. A job of unknown size (0) is let through while the
// reserve is free. An earlier promise to the same job is replaced.
func (s *space) ask(ctx context.Context, j domain.Job, dir string, reserve int64, free func() (int64, error)) (a answer, err error) {
	s.asking.Lock()
	defer s.asking.Unlock()
	if s.clock().Sub(s.counted) >= recountAfter {
		err = s.count(ctx)
	} else {
		err = s.read(ctx)
	}
	if err != nil {
		return a, errors.Join(errUncounted, err)
	}
	if a, err = s.offer(j, dir, reserve, free); err != nil || a.ok || s.clock().Sub(s.counted) < recountEvery {
		return a, err
	}
	if err := s.count(ctx); err != nil {
		return a, errors.Join(errUncounted, err)
	}
	return s.offer(j, dir, reserve, free)
}

// offer looks for free space, which may take long. A promise that ends meanwhile still
// counts: what its job has written may not have been seen.
func (s *space) offer(j domain.Job, dir string, reserve int64, free func() (int64, error)) (a answer, err error) {
	s.mu.Lock()
	before := s.sums[dir]
	if own := s.promised[j.ID]; own.dir == dir {
		before -= own.bytes
	}
	s.mu.Unlock()
	a.free, err = free()
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.term = s.term; a.term == nil || err != nil {
		return answer{}, err
	}
	s.drop(j.ID)
	a.left = a.free - reserve - max(before, s.sums[dir])
	if a.ok = a.left >= j.SpaceNeeded && a.left >= 0; a.ok {
		s.keep(j.ID, promise{dir: dir, bytes: j.SpaceNeeded, version: j.Version + 1, flying: true})
	}
	return a, nil
}

// landed ends the writing of the promise to a job: it is in the live state, or will
// never be.
func (s *space) landed(id domain.JobID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, known := s.promised[id]; known {
		p.flying = false
		s.promised[id] = p
	}
}

// free ends the promise to a job that left its state here.
func (s *space) free(id domain.JobID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(id)
}

// notice follows promises that begin or end in other processes, by the events of the
// log.
func (s *space) notice(r domain.Recorded) {
	m, ok := domain.MoveOfJob(r.Data)
	if !ok || r.Aggregate.Kind != domain.KindJob {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := domain.JobID(r.Aggregate.ID)
	was, is := domain.Job{State: m.From}.Promised(), domain.Job{State: m.To}.Promised()
	p, known := s.promised[id]
	switch {
	case s.term == nil:
	case is && !was && !known:
		s.unread[id] = true
	case was && !is && known && p.version < r.Version:
		s.drop(id)
	}
}
