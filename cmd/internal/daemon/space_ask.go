package daemon

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// errUncounted: what is promised elsewhere is unknown, so that nothing is promised.
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

// landed tells that nobody writes the promise to a job any more: it is in the live
// state, or will never be.
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

// notice follows what the log tells of promises that began or ended elsewhere.
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
