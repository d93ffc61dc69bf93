package zklive

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/statuses"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/submitters"
)

// rescanEvery bounds how long this process may miss a transition of a batch by another
// process, if it does not see the event in the log.
const rescanEvery = 10 * time.Second

// scanParallel is how many statuses of batches are read at once.
const scanParallel = 32

// batchIndex keeps an index for each batch state that this process works in. The tree
// has no queues of batches, so their states are read once and then followed like jobs;
// batches that can still change by themselves are read again at intervals.
type batchIndex struct {
	reader     *reader
	claims     *claims
	claimer    *claimer
	submitters *submitters.Index
	mu         sync.Mutex
	by         map[domain.BatchState]*index
	// known are the batches that exist, with the version last seen.
	known map[domain.BatchID]statuses.Status
	ready chan struct{}
	begin func()
}

func newBatchIndex(r *reader, c *claims, t *claimer, s *submitters.Index) *batchIndex {
	x := &batchIndex{reader: r, claims: c, claimer: t, submitters: s, by: map[domain.BatchState]*index{}, known: map[domain.BatchID]statuses.Status{}, ready: make(chan struct{})}
	x.begin = sync.OnceFunc(func() { r.conn.Spawn(x.poll) })
	return x
}

// NextBatch implements eventstore.Claims.
func (x *batchIndex) NextBatch(ctx context.Context, state domain.BatchState, g eventstore.Gate[domain.Batch]) (c *eventstore.Claim, at eventstore.Loaded[domain.Batch], err error) {
	ix, err := x.open(ctx, state)
	if err != nil {
		return nil, at, err
	}
	fits, ended := passing(ctx, g, func(b domain.Batch) bool { return eventstore.Phase(b.State, b.Ticket) == state })
	err = x.claimer.next(ctx, ix, gateOf(g), domain.KindBatch, domain.QueueIngest, func(id string, h eventstore.Holds) (err error) {
		c, at, err = x.claims.claimBatch(ctx, domain.BatchID(id), h, fits)
		ended(err)
		return err
	})
	if err != nil {
		return nil, eventstore.Loaded[domain.Batch]{}, err
	}
	return c, at, nil
}

func (x *batchIndex) open(ctx context.Context, state domain.BatchState) (*index, error) {
	x.mu.Lock()
	ix := x.by[state]
	var there []domain.BatchID
	if ix == nil {
		ix = newIndex()
		x.by[state] = ix
		for id, k := range x.known {
			if k.State == state {
				there = append(there, id)
			}
		}
	}
	x.mu.Unlock()
	for _, id := range there {
		x.submitters.ReadBatch(ctx, id)
		x.enter(id, state)
	}
	x.begin()
	return ix, x.claimer.wait(ctx, x.ready)
}

// enter puts a batch into the index of a state when its submitter is known, if it is
// still in that state then.
func (x *batchIndex) enter(id domain.BatchID, state domain.BatchState) {
	x.submitters.With(id, func(submitter string) {
		x.mu.Lock()
		defer x.mu.Unlock()
		if ix := x.by[state]; ix != nil && x.known[id].State == state {
			ix.add(fair.Item{ID: string(id), Submitter: submitter})
		}
	})
}

// poll finds new batches when /batches has changed, and transitions by rescans.
func (x *batchIndex) poll() {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var pzxid int64
	var last time.Time
	ctx := x.reader.conn.Context()
	for {
		stat, err := x.reader.conn.Exists(ctx, x.reader.root.Batches())
		full := time.Since(last) >= rescanEvery
		if err == nil && stat != nil && (stat.Pzxid != pzxid || full) {
			if err = x.scan(ctx, full); err == nil {
				if last.IsZero() {
					close(x.ready)
				}
				pzxid = stat.Pzxid
				if full {
					last = time.Now()
				}
			}
		}
		if err != nil && ctx.Err() == nil {
			x.claimer.log.Warn("cannot look at the batches", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// scan reads the status of unknown batches, and with full also of those that may have
// changed. It forgets those that do not exist any more.
func (x *batchIndex) scan(ctx context.Context, full bool) error {
	x.mu.Lock()
	before := maps.Clone(x.known)
	x.mu.Unlock()
	ids, err := x.reader.Batches(ctx)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(scanParallel)
	for _, id := range ids {
		k, known := before[id]
		delete(before, id)
		if known && (!full || k.State == domain.BatchCompleted) {
			continue
		}
		g.Go(func() error {
			var status layout.BatchStatus
			_, err := x.reader.conn.GetJSON(ctx, x.reader.root.BatchStatus(id), &status)
			switch {
			case errors.Is(err, eventstore.ErrBroken):
				x.claimer.log.Error("a batch cannot be read and is left alone: run `accession verify` for details", "batch", id, "error", err)
				x.claimer.unreadable.set(id.Aggregate(), true)
				return nil
			case session.Answered(err):
				return nil // gone
			case err != nil:
				return err
			}
			if claimed(status.Status) {
				x.submitters.ReadBatch(ctx, id)
			}
			x.moved(id, eventstore.Phase(status.Status, status.Ticket), status.Version, x.claims.has(id.Aggregate()))
			return nil
		})
	}
	for id := range before {
		x.forget(id)
	}
	return g.Wait()
}

// claimed reports whether daemons claim batches in a state.
func claimed(s domain.BatchState) bool {
	return s == domain.BatchPending || s == domain.BatchReporting || s == domain.BatchUpdateReporting
}

// moved updates the indexes with a batch's state; an outdated one is ignored.
func (x *batchIndex) moved(id domain.BatchID, to domain.BatchState, version int64, kept bool) {
	if x.follow(id, to, version) && !kept {
		x.enter(id, to)
	}
}

// follow notes a batch's state, and reports whether that is news and the
// state has an index.
func (x *batchIndex) follow(id domain.BatchID, to domain.BatchState, version int64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	was, known := x.known[id]
	if known && version <= was.Version {
		return false
	}
	x.claimer.unreadable.set(id.Aggregate(), false)
	if ix := x.by[was.State]; known && was.State != to && ix != nil {
		ix.remove(string(id))
	}
	x.known[id] = statuses.Status{State: to, Version: version}
	return x.by[to] != nil
}

func (x *batchIndex) forget(id domain.BatchID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.known, id)
	for _, ix := range x.by {
		ix.remove(string(id))
	}
}

// offer puts a batch whose claim has ended into the index of its state.
func (x *batchIndex) offer(id domain.BatchID, delay time.Duration) {
	x.submitters.With(id, func(submitter string) {
		x.mu.Lock()
		defer x.mu.Unlock()
		if ix := x.by[x.known[id].State]; ix != nil {
			ix.release(fair.Item{ID: string(id), Submitter: submitter}, delay)
		}
	})
}

// requeueAside offers again the batches that were set aside because they were locked.
func (x *batchIndex) requeueAside() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, ix := range x.by {
		ix.restore(true)
	}
}
