package zklive

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// How long an entry that somebody else holds is left alone, and how often a
// queue's directory is asked whether anything moved that nobody told of.
const (
	lockedDelay = 2 * time.Second
	brokenDelay = time.Minute
	lookEvery   = time.Second
	listEvery   = 5 * time.Second // a queue that moved, whatever was told of it
)

// errMoved: the entry's job is not where the index thought.
var errMoved = fmt.Errorf("moved on: %w", eventstore.ErrConflict)

// queues holds an index for each job state that this process works in. An index
// is fed by one listing, by this process's own commits and by the log; the
// directory is listed again only when its pzxid moved and nothing told why, or after a
// while.
type queues struct {
	s  *Store
	mu sync.Mutex
	by map[domain.JobState]*jobQueue
	// seen is the version up to which this process knows a job's moves, so that
	// the log's news of its own commits are not taken for new work.
	seen map[domain.JobID]int64
	// recent are the jobs that this process moved into a state it works in, as it
	// wrote them: the claim that follows need not read them.
	recent map[domain.JobID]eventstore.Loaded[domain.Job]
}

type jobQueue struct {
	*index
	state domain.JobState
	ready chan struct{} // closed after the first listing
	mu    sync.Mutex
	told  int64 // highest zxid that was told for the directory
	seen  int64 // pzxid at the last look
	// listed is the pzxid at the last listing.
	listed int64
}

func newQueues(s *Store) *queues {
	return &queues{s: s, by: map[domain.JobState]*jobQueue{}, seen: map[domain.JobID]int64{},
		recent: map[domain.JobID]eventstore.Loaded[domain.Job]{}}
}

const recentLimit = 20_000

// remember keeps a job that was just written, or forgets it when nobody will claim
// it.
func (q *queues) remember(at eventstore.Loaded[domain.Job], free bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if free && at.State.State.Worked() && q.by[at.State.State] != nil && len(q.recent) < recentLimit {
		q.recent[at.State.ID] = at
	} else {
		delete(q.recent, at.State.ID)
	}
}

// recall gives a remembered job, once.
func (q *queues) recall(id domain.JobID) (eventstore.Loaded[domain.Job], bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at, known := q.recent[id]
	delete(q.recent, id)
	return at, known
}

// open gives the state's queue, listed once.
func (q *queues) open(ctx context.Context, state domain.JobState) (*jobQueue, error) {
	q.mu.Lock()
	jq := q.by[state]
	if jq == nil {
		jq = &jobQueue{index: newIndex(), state: state, ready: make(chan struct{})}
		q.by[state] = jq
		q.s.goes(func() { q.look(jq) })
	}
	q.mu.Unlock()
	select {
	case <-jq.ready:
		return jq, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-q.s.ctx.Done():
		return nil, eventstore.ErrFenced
	}
}

// look lists the queue at first, and then whenever it moved unexplained: at two
// looks in a row its pzxid was beyond all that was told. That something was told does
// not say that all before it was, so a queue that moved at all is listed again after a
// while.
func (q *queues) look(jq *jobQueue) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var listed time.Time
	for first, doubt := true, false; ; {
		if first || doubt {
			if err := q.list(jq); err == nil {
				listed = time.Now()
				if first {
					close(jq.ready)
				}
				first, doubt = false, false
			} else if q.s.ctx.Err() == nil {
				q.s.log.Warn("cannot list a queue", "state", jq.state, "error", err)
			}
		}
		select {
		case <-tick.C:
		case <-q.s.ctx.Done():
			return
		}
		if !first {
			stat, err := q.s.exists(q.s.ctx, q.s.paths.queue(jq.state))
			if err == nil && stat != nil {
				jq.mu.Lock()
				doubt = stat.Pzxid > jq.told && stat.Pzxid == jq.seen || stat.Pzxid > jq.listed && time.Since(listed) > listEvery
				jq.seen = stat.Pzxid
				jq.mu.Unlock()
			}
		}
	}
}

func (q *queues) list(jq *jobQueue) error {
	names, stat, err := q.s.children(q.s.ctx, q.s.paths.queue(jq.state))
	if err != nil {
		return err
	}
	found := make([]entry, 0, len(names))
	for _, n := range names {
		prio, id, err := domain.ParseEntryName(n)
		if err != nil {
			q.s.log.Error("a queue entry cannot be read and is left alone", "state", jq.state, "entry", n, "error", err)
			continue
		}
		if q.s.claimedHere(id.Aggregate()) {
			continue
		}
		found = append(found, entry{string(id), prio})
	}
	jq.merge(found)
	jq.mu.Lock()
	jq.told, jq.listed = max(jq.told, stat.Pzxid), stat.Pzxid
	jq.mu.Unlock()
	return nil
}

func (s *Store) claimedHere(a domain.Aggregate) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claimed[a] != nil
}

// moved tells of a change that this process committed. A job whose claim is kept
// is not offered to anybody.
func (q *queues) moved(before, after domain.Job, zxid int64, kept bool) {
	q.tell(before.State, after.State, after.ID, after.Priority, after.Version, zxid, after.QueueEntry() != "", kept)
}

// Notice implements eventstore.Claims.
func (s *Store) Notice(r domain.Recorded) {
	switch r.Aggregate.Kind {
	case domain.KindJob:
		if m, ok := domain.MoveOfJob(r.Data); ok {
			id, gone := domain.JobID(r.Aggregate.ID), r.Type == domain.EventJobCleaned || m.To == domain.JobDeleted
			s.queues.tell(m.From, m.To, id, m.Priority, r.Version, r.Zxid, !gone, false)
			if gone { // it was the job's last news
				s.queues.forget(id)
			}
		}
	case domain.KindBatch:
		if m, ok := domain.MoveOfBatch(r.Data); ok {
			s.batches.moved(domain.BatchID(r.Aggregate.ID), m.To, r.Version, false)
			s.statuses.moved(domain.BatchID(r.Aggregate.ID), r.Version)
		}
	}
}

const seenLimit = 200_000

func (q *queues) tell(from, to domain.JobState, id domain.JobID, priority int, version, zxid int64, queued, kept bool) {
	q.mu.Lock()
	news := version > q.seen[id] || to == domain.JobDeleted
	if news {
		if len(q.seen) > seenLimit {
			clear(q.seen) // costs some failed claims, nothing else
		}
		q.seen[id] = version
	}
	old, next := q.by[from], q.by[to]
	q.mu.Unlock()
	for _, jq := range []*jobQueue{old, next} {
		if jq != nil {
			jq.mu.Lock()
			jq.told = max(jq.told, zxid)
			jq.mu.Unlock()
		}
	}
	if !news {
		return
	}
	q.s.unreadable(id.Aggregate(), false)
	if old != nil && (from != to || !queued) {
		old.remove(string(id))
	}
	if next != nil && queued && !kept {
		next.add(entry{string(id), priority})
	}
}

// forget drops what is known of a job that nobody will work on again.
func (q *queues) forget(id domain.JobID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.seen, id)
	delete(q.recent, id)
}

// released offers a job again after its claim was given back.
func (q *queues) released(id domain.JobID, delay time.Duration) {
	ctx, cancel := context.WithTimeout(q.s.ctx, 10*time.Second)
	defer cancel()
	q.offer(ctx, id, delay)
}

// offer puts a job into the queue that it is in now.
func (q *queues) offer(ctx context.Context, id domain.JobID, delay time.Duration) {
	at, err := q.s.Job(ctx, id)
	if err != nil {
		return // the next look finds it
	}
	q.mu.Lock()
	jq := q.by[at.State.State]
	q.mu.Unlock()
	if jq != nil && at.State.QueueEntry() != "" {
		jq.later(entry{string(id), at.State.Priority}, delay)
	}
}

// wakeAside brings back what was found locked.
func (q *queues) wakeAside() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, jq := range q.by {
		jq.bring(true)
	}
}

// NextJob implements eventstore.Claims.
func (s *Store) NextJob(ctx context.Context, state domain.JobState) (*eventstore.Claim, eventstore.Loaded[domain.Job], error) {
	none := eventstore.Loaded[domain.Job]{}
	jq, err := s.queues.open(ctx, state)
	if err != nil {
		return nil, none, err
	}
	for {
		h, err := s.waitOpen(ctx, string(state))
		if err != nil {
			return nil, none, err
		}
		e, ok, wait := jq.pop()
		if !ok {
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return nil, none, ctx.Err()
			case <-s.ctx.Done():
				return nil, none, eventstore.ErrFenced
			}
		}
		c, at, err := s.claimJob(ctx, domain.JobID(e.id), h, func(j domain.Job) error {
			if j.State != state || j.QueueEntry() == "" {
				return errMoved
			}
			return nil
		})
		s.unreadable(domain.JobID(e.id).Aggregate(), errors.Is(err, eventstore.ErrBroken))
		switch {
		case err == nil:
			return c, at, nil
		case errors.Is(err, errMoved), errors.Is(err, eventstore.ErrNotFound):
		case errors.Is(err, eventstore.ErrLocked):
			jq.later(e, lockedDelay)
		case errors.Is(err, eventstore.ErrBroken):
			s.log.Error("a job cannot be read and is set aside: `accession verify` tells more", "job", e.id, "state", state, "error", err)
			jq.later(e, brokenDelay)
		case errors.Is(err, eventstore.ErrConflict):
			jq.add(e) // its status or the holds moved meanwhile
		default:
			jq.later(e, lockedDelay)
			if ctx.Err() != nil {
				return nil, none, ctx.Err()
			}
		}
	}
}
