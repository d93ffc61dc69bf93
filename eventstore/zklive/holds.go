package zklive

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// holdsCache keeps the holds as of one version of /locks. Every write that
// relies on it proves that version, so that an outdated cache costs a refused
// write and never lets work slip past a hold.
type holdsCache struct {
	s       *Store
	loading sync.Mutex // one read at a time, the others wait for it
	mu      sync.Mutex
	// known is nil until the first read and after it was found outdated.
	known   *eventstore.Holds
	changed chan struct{} // closed at each change
}

func newHoldsCache(s *Store) *holdsCache {
	return &holdsCache{s: s, changed: make(chan struct{})}
}

// Holds implements eventstore.Live.
func (s *Store) Holds(ctx context.Context) (eventstore.Holds, error) { return s.holds.get(ctx) }

func (h *holdsCache) get(ctx context.Context) (eventstore.Holds, error) {
	if known := h.now(); known != nil {
		return *known, nil
	}
	h.loading.Lock()
	defer h.loading.Unlock()
	if known := h.now(); known != nil {
		return *known, nil
	}
	for {
		fresh, watch, err := h.load(ctx)
		if err != nil {
			return eventstore.Holds{}, &eventstore.Error{Op: "read holds", Err: err}
		}
		if fresh == nil {
			continue // changed while it was read
		}
		h.mu.Lock()
		h.known = fresh
		h.mu.Unlock()
		go func() {
			select {
			case <-watch:
				h.outdated()
			case <-h.s.ctx.Done():
			}
		}()
		return *fresh, nil
	}
}

func (h *holdsCache) now() *eventstore.Holds {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known
}

// outdated drops what is known and wakes those who wait for a change.
func (h *holdsCache) outdated() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known = nil
	close(h.changed)
	h.changed = make(chan struct{})
}

// change is closed when the holds may have changed.
func (h *holdsCache) change() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// load reads all holds; nil when /locks moved meanwhile.
func (h *holdsCache) load(ctx context.Context) (*eventstore.Holds, <-chan zk.Event, error) {
	type watched struct {
		stat  *zk.Stat
		watch <-chan zk.Event
	}
	first, err := read(ctx, func() (watched, error) {
		_, stat, watch, err := h.s.conn.GetW(h.s.paths.locks())
		return watched{stat, watch}, err
	})
	if err != nil {
		return nil, nil, err
	}
	out := &eventstore.Holds{Version: int64(first.stat.Version), Collections: map[string]domain.Hold{}, Queues: map[string]domain.Hold{}}
	for kind, into := range map[domain.HoldKind]map[string]domain.Hold{domain.HoldCollection: out.Collections, domain.HoldQueue: out.Queues} {
		names, _, err := h.s.children(ctx, h.s.paths.holdDir(kind))
		if err != nil {
			return nil, nil, err
		}
		for _, name := range names {
			var hold domain.Hold
			if _, err := h.s.getJSON(ctx, h.s.paths.hold(kind, name), &hold); errors.Is(err, zk.ErrNoNode) {
				return nil, nil, nil
			} else if err != nil {
				return nil, nil, err
			}
			into[name] = hold
		}
	}
	now, err := h.s.exists(ctx, h.s.paths.locks())
	if err != nil || now == nil || now.Version != first.stat.Version {
		return nil, nil, err
	}
	return out, first.watch, nil
}

// paused reports whether claims of the state are stopped.
func paused(h eventstore.Holds, queue string) bool {
	if _, all := h.Queues[domain.QueueIngest]; all {
		return true
	}
	_, one := h.Queues[queue]
	return one
}

// waitOpen returns the holds when claims in the queue are allowed.
func (s *Store) waitOpen(ctx context.Context, queue string) (eventstore.Holds, error) {
	for {
		change := s.holds.change()
		h, err := s.holds.get(ctx)
		if err != nil {
			return h, err
		}
		if !paused(h, queue) {
			return h, nil
		}
		select {
		case <-change:
		case <-time.After(5 * time.Second): // a lost watch
			s.holds.outdated()
		case <-ctx.Done():
			return h, ctx.Err()
		}
	}
}
