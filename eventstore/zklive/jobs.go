package zklive

import (
	"context"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// jobQueues holds an index for each job state that this process works in. An index is
// fed by one listing, by this process's own commits and by the log; the directory is
// listed again only if its pzxid has changed for no known reason, or after a time.
type jobQueues struct {
	reader *reader
	claims *claims
	turns  *turns
	mu     sync.Mutex
	by     map[domain.JobState]*jobQueue
	// seen is the version up to which this process knows a job, so that its own
	// commits, read from the log, are not taken for new work.
	seen map[domain.JobID]int64
	// recent are jobs that this process has written in a state that it works in: the
	// next claim need not read them.
	recent map[domain.JobID]eventstore.Loaded[domain.Job]
}

// Limits of what is remembered of jobs.
const (
	recentLimit = 20_000
	seenLimit   = 200_000
)

type jobQueue struct {
	*index
	state domain.JobState
	ready chan struct{} // closed after the first listing
	mu    sync.Mutex
	told  int64 // highest zxid of a known change of the directory
	seen  int64 // pzxid at the last look
	// listed is the pzxid at the last listing.
	listed int64
}

func newJobQueues(r *reader, c *claims, t *turns) *jobQueues {
	return &jobQueues{reader: r, claims: c, turns: t, by: map[domain.JobState]*jobQueue{}, seen: map[domain.JobID]int64{},
		recent: map[domain.JobID]eventstore.Loaded[domain.Job]{}}
}

// NextJob implements eventstore.Claims.
func (q *jobQueues) NextJob(ctx context.Context, state domain.JobState) (c *eventstore.Claim, at eventstore.Loaded[domain.Job], err error) {
	queue, err := q.open(ctx, state)
	if err != nil {
		return nil, at, err
	}
	err = q.turns.next(ctx, queue.index, domain.KindJob, string(state), func(id string, h eventstore.Holds) (err error) {
		c, at, err = q.claims.claimJob(ctx, domain.JobID(id), h, func(j domain.Job) error {
			if j.State != state || j.QueueEntry() == "" {
				return errMoved
			}
			return nil
		})
		return err
	})
	if err != nil {
		return nil, eventstore.Loaded[domain.Job]{}, err
	}
	return c, at, nil
}

// open returns the state's queue, listed once.
func (q *jobQueues) open(ctx context.Context, state domain.JobState) (*jobQueue, error) {
	q.mu.Lock()
	queue := q.by[state]
	if queue == nil {
		queue = &jobQueue{index: newIndex(), state: state, ready: make(chan struct{})}
		q.by[state] = queue
		q.reader.conn.Spawn(func() { q.poll(queue) })
	}
	q.mu.Unlock()
	return queue, q.turns.wait(ctx, queue.ready)
}

// poll lists the queue at first, and again when it has changed for an unknown reason:
// when its pzxid was twice in a row higher than that of every known change. A known
// change does not prove that all earlier ones are known, so a queue that has changed at
// all is listed again after a time.
func (q *jobQueues) poll(queue *jobQueue) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var listed time.Time
	ctx := q.reader.conn.Context()
	for first, doubt := true, false; ; {
		if first || doubt {
			if err := q.list(queue); err == nil {
				listed = time.Now()
				if first {
					close(queue.ready)
				}
				first, doubt = false, false
			} else if ctx.Err() == nil {
				q.turns.log.Warn("cannot list a queue", "state", queue.state, "error", err)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if !first {
			stat, err := q.reader.conn.Exists(ctx, q.reader.root.Queue(queue.state))
			if err == nil && stat != nil {
				queue.mu.Lock()
				doubt = stat.Pzxid > queue.told && stat.Pzxid == queue.seen || stat.Pzxid > queue.listed && time.Since(listed) > listEvery
				queue.seen = stat.Pzxid
				queue.mu.Unlock()
			}
		}
	}
}

func (q *jobQueues) list(queue *jobQueue) error {
	v, err := q.reader.conn.Children(q.reader.conn.Context(), q.reader.root.Queue(queue.state))
	if err != nil {
		return err
	}
	found := make([]entry, 0, len(v.Names))
	for _, n := range v.Names {
		prio, id, err := domain.ParseEntryName(n)
		if err != nil {
			q.turns.log.Error("a queue entry cannot be read and is left alone", "state", queue.state, "entry", n, "error", err)
		} else if !q.claims.has(id.Aggregate()) {
			found = append(found, entry{string(id), prio})
		}
	}
	queue.merge(found)
	queue.mu.Lock()
	defer queue.mu.Unlock()
	queue.told, queue.listed = max(queue.told, v.Stat.Pzxid), v.Stat.Pzxid
	return nil
}

// committed updates the indexes after a transition that this process wrote. A job that
// is handed over, or whose claim is kept, is not offered.
func (q *jobQueues) committed(t eventstore.Transition[domain.Job], done eventstore.Committed, handedOver, kept bool) {
	to := t.To
	q.mu.Lock()
	if !handedOver && to.State.Worked() && q.by[to.State] != nil && len(q.recent) < recentLimit {
		q.recent[to.ID] = eventstore.Loaded[domain.Job]{State: to, Token: done.Token}
	} else {
		delete(q.recent, to.ID)
	}
	q.mu.Unlock()
	q.tell(domain.JobMove{From: t.From.State, To: to.State, Priority: to.Priority}, to.ID, to.Version, done.Zxid, to.QueueEntry() != "", kept)
}

// recall returns a remembered job, once.
func (q *jobQueues) recall(id domain.JobID) (eventstore.Loaded[domain.Job], bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at, known := q.recent[id]
	delete(q.recent, id)
	return at, known
}

// notice updates the indexes after a transition that was read from the log.
func (q *jobQueues) notice(r domain.Recorded) {
	m, ok := domain.MoveOfJob(r.Data)
	if !ok {
		return
	}
	id, gone := domain.JobID(r.Aggregate.ID), r.Type == domain.EventJobCleaned || m.To == domain.JobDeleted
	q.tell(m, id, r.Version, r.Zxid, !gone, false)
	if gone { // this was the job's last event
		q.forget(id)
	}
}

// tell updates the indexes after a transition: queued says whether the job now has a
// queue entry, kept whether it stays claimed.
func (q *jobQueues) tell(m domain.JobMove, id domain.JobID, version, zxid int64, queued, kept bool) {
	q.mu.Lock()
	news := version > q.seen[id] || m.To == domain.JobDeleted
	if news {
		if len(q.seen) > seenLimit {
			clear(q.seen) // costs some failed claims, nothing else
		}
		q.seen[id] = version
	}
	from, to := q.by[m.From], q.by[m.To]
	q.mu.Unlock()
	for _, queue := range []*jobQueue{from, to} {
		if queue != nil {
			queue.mu.Lock()
			queue.told = max(queue.told, zxid)
			queue.mu.Unlock()
		}
	}
	if !news {
		return
	}
	q.turns.unreadable.note(id.Aggregate(), false)
	if from != nil && (m.From != m.To || !queued) {
		from.remove(string(id))
	}
	if to != nil && queued && !kept {
		to.add(entry{string(id), m.Priority})
	}
}

// forget drops all knowledge of a job that will not be worked on again.
func (q *jobQueues) forget(id domain.JobID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.seen, id)
	delete(q.recent, id)
}

// offerTime bounds the read of a job that is offered again.
const offerTime = 10 * time.Second

// offer puts a job whose claim has ended into the index of its present state.
func (q *jobQueues) offer(id domain.JobID, delay time.Duration) {
	ctx, cancel := context.WithTimeout(q.reader.conn.Context(), offerTime)
	defer cancel()
	at, err := q.reader.Job(ctx, id)
	if err != nil {
		return // the next look finds it
	}
	q.mu.Lock()
	queue := q.by[at.State.State]
	q.mu.Unlock()
	if queue != nil && at.State.QueueEntry() != "" {
		queue.later(entry{string(id), at.State.Priority}, delay)
	}
}

// wakeAside offers again the jobs that were set aside because they were locked.
func (q *jobQueues) wakeAside() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, queue := range q.by {
		queue.bring(true)
	}
}
