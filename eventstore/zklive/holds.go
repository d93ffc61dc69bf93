package zklive

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// refreshEvery is the time after which a watch counts as lost.
const refreshEvery = 10 * time.Second

// holds keeps the holds as of one version of /locks. Every write that relies on them
// proves that version, so that an outdated cache can only cause a refused write, never
// work in spite of a hold.
type holds struct {
	reader  *reader
	locks   *session.Watched
	log     *slog.Logger
	unread  *unreadable
	loading sync.Mutex // one read at a time, the others wait for it
	mu      sync.Mutex
	// known is nil until the first read and after it was found outdated.
	known   *eventstore.Holds
	changed chan struct{} // closed at each change
}

func newHolds(r *reader, unread *unreadable, log *slog.Logger) *holds {
	h := &holds{reader: r, unread: unread, log: log, changed: make(chan struct{})}
	h.locks = r.conn.Watch(r.root.Locks(), h.outdated)
	return h
}

// Holds implements eventstore.Live.
func (h *holds) Holds(ctx context.Context) (eventstore.Holds, error) {
	if known, _ := h.now(); known != nil {
		return *known, nil
	}
	h.loading.Lock()
	defer h.loading.Unlock()
	for {
		if known, _ := h.now(); known != nil {
			return *known, nil
		}
		known, at, err := h.load(ctx)
		if err != nil {
			return eventstore.Holds{}, &eventstore.Error{Op: "read holds", Err: err}
		}
		if known != nil && h.keep(known, at) { // else changed while it was read
			return *known, nil
		}
	}
}

func (h *holds) keep(known *eventstore.Holds, at session.View) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	heard := h.locks.Heard(at)
	if heard {
		h.known = known
	}
	return heard
}

// now returns the cached holds, and a channel that is closed when they may have
// changed.
func (h *holds) now() (*eventstore.Holds, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known, h.changed
}

// outdated drops the cached holds and wakes those who wait for a change.
func (h *holds) outdated() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known = nil
	close(h.changed)
	h.changed = make(chan struct{})
}

// load reads all holds; nil if /locks has changed meanwhile.
func (h *holds) load(ctx context.Context) (known *eventstore.Holds, first session.View, err error) {
	conn, root := h.reader.conn, h.reader.root
	if first, err = h.locks.Get(ctx); err != nil {
		return nil, first, err
	}
	out := &eventstore.Holds{Version: int64(first.Stat.Version), Collections: map[string]domain.Hold{}, Queues: map[string]domain.Hold{}}
	for kind, into := range map[domain.SettingKind]map[string]domain.Hold{domain.HoldCollection: out.Collections, domain.HoldQueue: out.Queues} {
		all, err := conn.Children(ctx, root.Holds(kind))
		if err != nil {
			return nil, first, err
		}
		for _, name := range all.Names {
			v, _, err := h.reader.value(ctx, kind, name)
			if err != nil || v.Hold == nil { // released meanwhile
				return nil, first, err
			}
			into[name] = *v.Hold
		}
	}
	now, err := conn.Exists(ctx, root.Locks())
	if err != nil || now == nil || now.Version != first.Stat.Version {
		return nil, first, err
	}
	h.alarm(out)
	return out, first, nil
}

// alarm counts the holds that cannot be read among what is unreadable, and logs each
// when it is first seen.
func (h *holds) alarm(now *eventstore.Holds) {
	for kind, all := range map[domain.SettingKind]map[string]domain.Hold{domain.HoldCollection: now.Collections, domain.HoldQueue: now.Queues} {
		for name, hold := range all {
			a := domain.SettingAggregate(kind, name)
			if hold.By == domain.ByUnknown && !h.unread.has(a) {
				h.unread.set(a, true)
				h.log.Error("a hold cannot be read; it counts as one by "+domain.ByUnknown+", until it is released", "kind", kind, "name", name, "node", h.reader.root.Hold(kind, name))
			}
		}
	}
	h.unread.of.Range(func(key, _ any) bool {
		a := key.(domain.Aggregate) //nolint:forcetypeassert // all keys are
		kind, name := domain.SettingOf(a)
		set := now.Collections
		if kind == domain.HoldQueue {
			set = now.Queues
		}
		if a.Kind == domain.KindSetting && kind.Stops() && set[name].By != domain.ByUnknown {
			h.unread.set(a, false)
		}
		return true
	})
}

// waitOpen waits until claims in the queue are allowed and returns the holds.
func (h *holds) waitOpen(ctx context.Context, queue string) (eventstore.Holds, error) {
	for {
		_, change := h.now()
		now, err := h.Holds(ctx)
		if err != nil || !now.Paused(queue) {
			return now, err
		}
		select {
		case <-change:
		case <-time.After(refreshEvery / 2):
			h.outdated()
		case <-ctx.Done():
			return now, ctx.Err()
		}
	}
}
