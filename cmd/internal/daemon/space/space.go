// Package space keeps the account of the working space that is promised to jobs.
package space

import (
	"context"
	"errors"
	"fmt"
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

// Account is the account of the working space that is promised to jobs, and to files without a
// job, which have not written it yet. One process at a time keeps it, under a lead: it counts the
// promises in the live state when its lead begins, adds its own, and follows those
// that begin and end in other processes. What is written shows as less free space.
type Account struct {
	in      eventstore.Space
	log     *slog.Logger
	clock   func() time.Time
	dirOf   func(profile string) string
	askMu   sync.Mutex       // held while asking or counting
	counted time.Time        // when it was last counted; under asking
	files   map[string]int64 // bytes that are promised to files without a job, by working directory; under asking
	filesAt time.Time        // when they were counted; under asking

	mu       sync.Mutex
	term     *eventstore.Token // nil = another process leads
	promised map[domain.JobID]promise
	sums     map[string]int64      // bytes by working directory
	unread   map[domain.JobID]bool // promised elsewhere, and not counted yet
}

type promise struct {
	dir      string // of which working directory
	bytes    int64
	version  int64 // of the job, once it is promised
	inFlight bool  // promised here, and its write has not ended
}

// New returns an account that this process does not keep yet; dirOf names the working
// directory of a profile.
func New(in eventstore.Space, log *slog.Logger, clock func() time.Time, dirOf func(profile string) string) *Account {
	return &Account{in: in, log: log, clock: clock, dirOf: dirOf}
}

// Lead waits until this process keeps the account, and counts.
func (s *Account) Lead(ctx context.Context) (context.Context, func(), error) {
	lead, term, resign, err := s.in.LeadSpace(ctx)
	if err != nil {
		return nil, nil, err
	}
	s.askMu.Lock()
	defer s.askMu.Unlock()
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
		return nil, nil, errors.Join(ErrUncounted, err)
	}
	return lead, end, nil
}

// count sets the account from the live state. A promise whose write has not ended
// stays.
func (s *Account) count(ctx context.Context) error {
	at := s.clock()
	s.mu.Lock()
	gone := make(map[domain.JobID]bool, len(s.promised))
	for id, p := range s.promised {
		if !p.inFlight {
			gone[id] = true
		}
	}
	s.mu.Unlock()
	ids, err := s.in.Promised(ctx)
	if err == nil {
		err = s.countFiles(ctx)
	}
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

// countFiles counts what is promised to files without a job, by processes that download them.
func (s *Account) countFiles(ctx context.Context) error {
	at := s.clock()
	all, err := s.in.FilePromises(ctx)
	if err != nil {
		return err
	}
	s.files, s.filesAt = map[string]int64{}, at
	for _, p := range all {
		s.files[s.dirOf(p.Profile)] += p.Bytes
	}
	return nil
}

// read counts the promises of other processes.
func (s *Account) read(ctx context.Context) error {
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
func (s *Account) keep(id domain.JobID, p promise) {
	s.drop(id)
	s.promised[id] = p
	s.sums[p.dir] += p.bytes
}

func (s *Account) drop(id domain.JobID) {
	p, known := s.promised[id]
	if !known {
		return
	}
	delete(s.promised, id)
	if s.sums[p.dir] -= p.bytes; s.sums[p.dir] == 0 {
		delete(s.sums, p.dir)
	}
}

// ErrUncounted is the error of an account that cannot count the promises of other
// processes, so that nothing is promised.
var ErrUncounted = errors.New("the promises of working space cannot be counted")

// Answer is the answer to a job that asks for space.
type Answer struct {
	OK   bool
	Free int64             // in the working directory
	Left int64             // of it to promise
	Term *eventstore.Token // nil = this process does not keep the account
}

// Short returns why a job that needs so many bytes waits, 0 = it is not known how many.
func (a Answer) Short(need, reserve int64) domain.Reason {
	msg := fmt.Sprintf("the job needs %d bytes of working space; %d are free, of which %d stay in reserve and %d can be promised",
		need, a.Free, reserve, max(a.Left, 0))
	if need == 0 {
		msg = fmt.Sprintf("the job's size is unknown and only %d bytes of working space are free: it waits until there are %d", a.Free, reserve)
	}
	return domain.Reason{Code: domain.CodeSpaceShort, Message: msg}
}

// Ask promises the job the bytes it needs if they fit beside what others were
// promised and the reserve. A job of unknown size (0) is let through while the
// reserve is free. An earlier promise to the same job is replaced.
func (s *Account) Ask(ctx context.Context, j domain.Job, dir string, reserve int64, free func() (int64, error)) (a Answer, err error) {
	s.askMu.Lock()
	defer s.askMu.Unlock()
	if s.clock().Sub(s.counted) >= recountAfter {
		err = s.count(ctx)
	} else if err = s.read(ctx); err == nil && s.clock().Sub(s.filesAt) >= recountEvery {
		err = s.countFiles(ctx)
	}
	if err != nil {
		return a, errors.Join(ErrUncounted, err)
	}
	if a, err = s.offer(j, dir, reserve, free); err != nil || a.OK || s.clock().Sub(s.counted) < recountEvery {
		return a, err
	}
	if err := s.count(ctx); err != nil {
		return a, errors.Join(ErrUncounted, err)
	}
	return s.offer(j, dir, reserve, free)
}

// offer measures the free space, which may take long. A promise that ends meanwhile
// still counts, because the measurement may not include what its job has written.
func (s *Account) offer(j domain.Job, dir string, reserve int64, free func() (int64, error)) (a Answer, err error) {
	s.mu.Lock()
	before := s.sums[dir]
	if own := s.promised[j.ID]; own.dir == dir {
		before -= own.bytes
	}
	s.mu.Unlock()
	a.Free, err = free()
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.Term = s.term; a.Term == nil || err != nil {
		return Answer{}, err
	}
	s.drop(j.ID)
	a.Left = a.Free - reserve - max(before, s.sums[dir]) - s.files[dir]
	if a.OK = a.Left >= j.SpaceNeeded && a.Left >= 0; a.OK {
		s.keep(j.ID, promise{dir: dir, bytes: j.SpaceNeeded, version: j.Version + 1, inFlight: true})
	}
	return a, nil
}

// PromiseWritten ends the write of the promise to a job: it is in the live state, or
// will never be.
func (s *Account) PromiseWritten(id domain.JobID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, known := s.promised[id]; known {
		p.inFlight = false
		s.promised[id] = p
	}
}

// Free ends the promise to a job that this process has moved on.
func (s *Account) Free(id domain.JobID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(id)
}

// Notice follows promises that begin or end in other processes, by the events of the
// log.
func (s *Account) Notice(r domain.Recorded) {
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
