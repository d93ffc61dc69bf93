package zklive

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/submitters"
)

// jobQueues holds an index for each job state that this process works in. An index is
// fed by one listing, by this process's own commits and by the log; the directory is
// listed again only if its pzxid has changed for no known reason, or after a time.
type jobQueues struct {
	reader     *reader
	claims     *claims
	claimer    *claimer
	submitters *submitters.Index
	mu         sync.Mutex
	by         map[domain.JobState]*jobQueue
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
	state       domain.JobState
	ready       chan struct{} // closed after the first listing
	mu          sync.Mutex
	knownZxid   int64 // highest of the known changes of the directory
	lastPzxid   int64 // of the directory, when it was last read
	listedPzxid int64 // of the directory, when it was last listed
}

func newJobQueues(r *reader, c *claims, t *claimer, s *submitters.Index) *jobQueues {
	return &jobQueues{reader: r, claims: c, claimer: t, submitters: s, by: map[domain.JobState]*jobQueue{}, seen: map[domain.JobID]int64{},
		recent: map[domain.JobID]eventstore.Loaded[domain.Job]{}}
}

// NextJob implements eventstore.Claims.
func (q *jobQueues) NextJob(ctx context.Context, state domain.JobState, g eventstore.Gate[domain.Job]) (c *eventstore.Claim, at eventstore.Loaded[domain.Job], err error) {
	queue, err := q.open(ctx, state)
	if err != nil {
		return nil, at, err
	}
	fits, ended := passing(ctx, g, func(j domain.Job) bool { return j.State == state && j.QueueEntry() != "" })
	err = q.claimer.next(ctx, queue.index, gateOf(g), domain.KindJob, string(state), func(id string, h eventstore.Holds) (err error) {
		c, at, err = q.claims.claimJob(ctx, domain.JobID(id), h, fits)
		ended(err)
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
	return queue, q.claimer.wait(ctx, queue.ready)
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
	for first, unexplained := true, false; ; {
		if first || unexplained {
			if err := q.list(queue); err == nil {
				listed = time.Now()
				if first {
					close(queue.ready)
				}
				first, unexplained = false, false
			} else if ctx.Err() == nil {
				q.claimer.log.Warn("cannot list a queue", "state", queue.state, "error", err)
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
				unexplained = stat.Pzxid > queue.knownZxid && stat.Pzxid == queue.lastPzxid || stat.Pzxid > queue.listedPzxid && time.Since(listed) > listEvery
				queue.lastPzxid = stat.Pzxid
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
	found, ids := make([]fair.Item, 0, len(v.Names)), make([]domain.JobID, 0, len(v.Names))
	for _, n := range v.Names {
		prio, id, err := domain.ParseEntryName(n)
		if err != nil {
			q.claimer.log.Error("a queue entry cannot be read and is left alone", "state", queue.state, "entry", n, "error", err)
		} else if !q.claims.has(id.Aggregate()) {
			found, ids = append(found, fair.Item{ID: string(id), Rank: prio}), append(ids, id)
		}
	}
	slices.Sort(ids) // the server lists in no order, and who has the oldest job has the first turn
	slices.SortFunc(found, func(a, b fair.Item) int { return cmp.Compare(a.ID, b.ID) })
	q.submitters.Read(q.reader.conn.Context(), ids)
	for i, id := range ids {
		found[i].Submitter, _ = q.submitters.OfJob(id)
	}
	queue.merge(found)
	queue.mu.Lock()
	defer queue.mu.Unlock()
	queue.knownZxid, queue.listedPzxid = max(queue.knownZxid, v.Stat.Pzxid), v.Stat.Pzxid
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
	q.update(domain.JobMove{From: t.From.State, To: to.State, Priority: to.Priority}, to.ID, to.Configuration.Submitter, to.Version, done.Zxid, to.QueueEntry() != "", kept)
}

// recall returns a remembered job, once.
func (q *jobQueues) recall(id domain.JobID) (eventstore.Loaded[domain.Job], bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at, known := q.recent[id]
	delete(q.recent, id)
	return at, known
}

// observe updates the indexes after a transition that was read from the log.
func (q *jobQueues) observe(r domain.Recorded) {
	m, ok := domain.MoveOfJob(r.Data)
	if !ok {
		return
	}
	id, gone := domain.JobID(r.Aggregate.ID), r.Type == domain.EventJobCleaned || m.To == domain.JobDeleted
	if gone { // this was the job's last event
		q.update(m, id, "", r.Version, r.Zxid, false, false)
		q.forget(id)
		return
	}
	q.mu.Lock()
	works := q.by[m.To] != nil
	q.mu.Unlock()
	if !works {
		q.update(m, id, "", r.Version, r.Zxid, true, false)
		return
	}
	q.submitters.With(r.BatchID, func(submitter string) { q.update(m, id, submitter, r.Version, r.Zxid, true, false) })
}

// update updates the indexes after a transition: queued says whether the job now has a
// queue entry, kept whether it stays claimed.
func (q *jobQueues) update(m domain.JobMove, id domain.JobID, submitter string, version, zxid int64, queued, kept bool) {
	q.mu.Lock()
	newer := version > q.seen[id] || m.To == domain.JobDeleted
	if newer {
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
			queue.knownZxid = max(queue.knownZxid, zxid)
			queue.mu.Unlock()
		}
	}
	if !newer {
		return
	}
	q.claimer.unreadable.set(id.Aggregate(), false)
	if from != nil && (m.From != m.To || !queued) {
		from.remove(string(id))
	}
	if to != nil && queued && !kept {
		to.add(fair.Item{ID: string(id), Rank: m.Priority, Submitter: submitter})
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
		return // the next listing finds it
	}
	q.mu.Lock()
	queue := q.by[at.State.State]
	q.mu.Unlock()
	if queue != nil && at.State.QueueEntry() != "" {
		queue.release(itemOf(at.State), delay)
	}
}

// Wake implements eventstore.Claims.
func (q *jobQueues) Wake(_ context.Context, id domain.JobID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, queue := range q.by {
		queue.wakeReleased(string(id))
	}
}

// itemOf returns a job as it waits.
func itemOf(j domain.Job) fair.Item {
	return fair.Item{ID: string(j.ID), Rank: j.Priority, Submitter: j.Configuration.Submitter}
}

// requeueAside offers again the jobs that were set aside because they were locked.
func (q *jobQueues) requeueAside() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, queue := range q.by {
		queue.restore(true)
	}
}
