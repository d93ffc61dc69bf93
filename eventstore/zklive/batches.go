package zklive

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// rescanEvery bounds how long a batch's move by another process, of which the
// log told nothing, stays unseen.
const rescanEvery = 10 * time.Second

// batchIndex keeps an index for each batch state that this process works in. The
// tree has no queues of batches, so their states are read once and then followed
// like jobs; batches not at rest are read again from time to time.
type batchIndex struct {
	s  *Store
	mu sync.Mutex
	by map[domain.BatchState]*index
	// known are the batches that may still move, with the version last seen.
	known map[domain.BatchID]knownBatch
	ready chan struct{}
	begun bool
}

type knownBatch struct {
	state   domain.BatchState
	version int64
}

func newBatchIndex(s *Store) *batchIndex {
	return &batchIndex{s: s, by: map[domain.BatchState]*index{}, known: map[domain.BatchID]knownBatch{}, ready: make(chan struct{})}
}

func (x *batchIndex) open(ctx context.Context, state domain.BatchState) (*index, error) {
	x.mu.Lock()
	ix := x.by[state]
	if ix == nil {
		ix = newIndex()
		x.by[state] = ix
		for id, k := range x.known {
			if k.state == state {
				ix.add(entry{id: string(id)})
			}
		}
	}
	if !x.begun {
		x.begun = true
		x.s.goes(x.look)
	}
	x.mu.Unlock()
	select {
	case <-x.ready:
		return ix, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-x.s.ctx.Done():
		return nil, eventstore.ErrFenced
	}
}

// look finds new batches whenever /batches moved, and moved ones by rescans.
func (x *batchIndex) look() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var pzxid int64
	done := map[domain.BatchID]bool{} // deleted or completed: never read again
	var last time.Time
	for {
		stat, err := x.s.exists(x.s.ctx, x.s.paths.at("/batches"))
		full := time.Since(last) >= rescanEvery
		if err == nil && stat != nil && (stat.Pzxid != pzxid || full) {
			if err = x.scan(done, full); err == nil {
				if last.IsZero() {
					close(x.ready)
				}
				pzxid = stat.Pzxid
				if full {
					last = time.Now()
				}
			}
		}
		if err != nil && x.s.ctx.Err() == nil {
			x.s.log.Warn("cannot look at the batches", "error", err)
		}
		select {
		case <-tick.C:
		case <-x.s.ctx.Done():
			return
		}
	}
}

// scan reads the status of batches that it does not know, and with full also of
// those that may have moved.
func (x *batchIndex) scan(done map[domain.BatchID]bool, full bool) error {
	ids, err := x.s.Batches(x.s.ctx)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(x.s.ctx)
	g.SetLimit(32)
	var mu sync.Mutex
	for _, id := range ids {
		x.mu.Lock()
		_, known := x.known[id]
		x.mu.Unlock()
		mu.Lock()
		skip := done[id]
		mu.Unlock()
		if skip || known && !full {
			continue
		}
		g.Go(func() error {
			var st batchStatus
			_, err := x.s.getJSON(ctx, x.s.paths.batchStatus(id), &st)
			if errors.Is(err, eventstore.ErrBroken) {
				x.s.log.Error("a batch cannot be read and is left alone: `accession verify` tells more", "batch", id, "error", err)
				x.s.unreadable(id.Aggregate(), true)
				return nil
			}
			if err != nil {
				if answered(err) {
					return nil // gone
				}
				return err
			}
			x.moved(id, st.Status, st.Version, x.s.claimedHere(id.Aggregate()))
			if st.Status == domain.BatchCompleted {
				mu.Lock()
				done[id] = true
				mu.Unlock()
			}
			return nil
		})
	}
	return g.Wait()
}

// moved tells of a batch's state; outdated news are ignored.
func (x *batchIndex) moved(id domain.BatchID, to domain.BatchState, version int64, kept bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	was, known := x.known[id]
	if known && version <= was.version {
		return
	}
	x.s.unreadable(id.Aggregate(), false)
	if known && was.state != to {
		if ix := x.by[was.state]; ix != nil {
			ix.remove(string(id))
		}
	}
	if to == domain.BatchCompleted {
		delete(x.known, id)
		return
	}
	x.known[id] = knownBatch{to, version}
	if ix := x.by[to]; ix != nil && !kept {
		ix.add(entry{id: string(id)})
	}
}

func (x *batchIndex) forget(id domain.BatchID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.known, id)
	for _, ix := range x.by {
		ix.remove(string(id))
	}
}

func (x *batchIndex) released(id domain.BatchID, delay time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if k, known := x.known[id]; known {
		if ix := x.by[k.state]; ix != nil {
			ix.later(entry{id: string(id)}, delay)
		}
	}
}

func (x *batchIndex) wakeAside() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, ix := range x.by {
		ix.bring(true)
	}
}

// NextBatch implements eventstore.Claims.
func (s *Store) NextBatch(ctx context.Context, state domain.BatchState) (*eventstore.Claim, eventstore.Loaded[domain.Batch], error) {
	none := eventstore.Loaded[domain.Batch]{}
	ix, err := s.batches.open(ctx, state)
	if err != nil {
		return nil, none, err
	}
	for {
		h, err := s.waitOpen(ctx, domain.QueueIngest)
		if err != nil {
			return nil, none, err
		}
		e, ok, wait := ix.pop()
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
		c, at, err := s.claimBatch(ctx, domain.BatchID(e.id), h, func(b domain.Batch) error {
			if b.State != state {
				return errMoved
			}
			return nil
		})
		s.unreadable(domain.BatchID(e.id).Aggregate(), errors.Is(err, eventstore.ErrBroken))
		switch {
		case err == nil:
			return c, at, nil
		case errors.Is(err, errMoved), errors.Is(err, eventstore.ErrNotFound):
		case errors.Is(err, eventstore.ErrLocked):
			ix.later(e, lockedDelay)
		case errors.Is(err, eventstore.ErrBroken):
			s.log.Error("a batch cannot be read and is set aside: `accession verify` tells more", "batch", e.id, "error", err)
			ix.later(e, brokenDelay)
		case errors.Is(err, eventstore.ErrConflict):
			ix.add(e)
		default:
			ix.later(e, lockedDelay)
			if ctx.Err() != nil {
				return nil, none, ctx.Err()
			}
		}
	}
}
