package zklive

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// How long an entry that cannot be claimed is set aside, and how often a queue's
// directory is checked for unknown changes.
const (
	lockedDelay = 2 * time.Second
	brokenDelay = time.Minute
	pollEvery   = time.Second
	listEvery   = 5 * time.Second // a queue that has changed, whatever is known of it
)

// entry is a waiting batch or job: lower rank first, then lower id.
type entry struct {
	id   string
	rank int
}

func (e entry) before(o entry) bool { return e.rank < o.rank || e.rank == o.rank && e.id < o.id }

// index is an ordered set of waiting work in memory, so that the cost of taking the
// next entry hardly depends on how many wait. It returns each entry once. An entry that
// another worker has locked is set aside, and returns after a time or when a worker has
// ended.
type index struct {
	mu      sync.Mutex
	heap    entryHeap
	waiting map[string]int       // id → rank of what is in the heap; others in it are stale
	aside   map[string]asideItem // id → when to look again
	signal  chan struct{}        // closed when something may be there
	timer   *time.Timer
}

type asideItem struct {
	entry
	due time.Time
}

func newIndex() *index {
	return &index{waiting: map[string]int{}, aside: map[string]asideItem{}, signal: make(chan struct{})}
}

// add puts an entry in, or changes its rank.
func (x *index) add(e entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.push(e)
	x.wake()
}

func (x *index) push(e entry) {
	delete(x.aside, e.id)
	if rank, there := x.waiting[e.id]; there && rank == e.rank {
		return
	}
	x.waiting[e.id] = e.rank
	heap.Push(&x.heap, e)
}

func (x *index) wake() {
	close(x.signal)
	x.signal = make(chan struct{})
}

// remove takes an entry out, wherever it is.
func (x *index) remove(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.waiting, id)
	delete(x.aside, id)
}

// pop removes and returns the first entry; if there is none it returns a channel that
// is closed when there may be one.
func (x *index) pop() (entry, bool, <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for x.heap.Len() > 0 {
		e := heap.Pop(&x.heap).(entry)
		if rank, there := x.waiting[e.id]; there && rank == e.rank {
			delete(x.waiting, e.id)
			return e, true, nil
		}
	}
	if len(x.waiting) == 0 { // neither the heap nor the map shrinks after a long queue
		x.heap, x.waiting = nil, map[string]int{}
	}
	return entry{}, false, x.signal
}

// first reports whether an entry comes before all that wait.
func (x *index) first(e entry) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for x.heap.Len() > 0 {
		top := x.heap[0]
		if rank, there := x.waiting[top.id]; there && rank == top.rank {
			return e.before(top)
		}
		heap.Pop(&x.heap)
	}
	return true
}

// later sets an entry aside for a time.
func (x *index) later(e entry, delay time.Duration) {
	if delay <= 0 {
		x.add(e)
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.aside[e.id] = asideItem{e, time.Now().Add(delay)}
	x.arm()
}

// arm sets the timer for the next entry that is due.
func (x *index) arm() {
	var next time.Time
	for _, a := range x.aside {
		if next.IsZero() || a.due.Before(next) {
			next = a.due
		}
	}
	if next.IsZero() {
		return
	}
	if x.timer != nil {
		x.timer.Stop()
	}
	x.timer = time.AfterFunc(time.Until(next), func() { x.bring(false) })
}

// bring puts back what is due, or everything that was set aside.
func (x *index) bring(all bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now, some := time.Now(), false
	for _, a := range x.aside {
		if all || !a.due.After(now) {
			x.push(a.entry)
			some = true
		}
	}
	if some {
		x.wake()
	}
	x.arm()
}

// merge adds what a listing found and drops what it did not.
func (x *index) merge(found []entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	there := make(map[string]bool, len(found))
	for _, e := range found {
		there[e.id] = true
		if _, set := x.aside[e.id]; !set {
			x.push(e)
		}
	}
	maps.DeleteFunc(x.waiting, func(id string, _ int) bool { return !there[id] })
	maps.DeleteFunc(x.aside, func(id string, _ asideItem) bool { return !there[id] })
	x.wake()
}

type entryHeap []entry

func (h entryHeap) Len() int           { return len(h) }
func (h entryHeap) Less(i, k int) bool { return h[i].before(h[k]) }
func (h entryHeap) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }
func (h *entryHeap) Push(e any)        { *h = append(*h, e.(entry)) }
func (h *entryHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}

// errMoved says that the entry is no longer in the state of the index.
var errMoved = fmt.Errorf("moved on: %w", eventstore.ErrConflict)

// turns claims the first entry of an index that can be claimed.
type turns struct {
	holds      *holds
	unreadable *unreadable
	log        *slog.Logger
	closed     context.Context
}

// wait returns when an index has been filled.
func (t *turns) wait(ctx context.Context, ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-t.closed.Done():
		return eventstore.ErrFenced
	}
}

// next claims the first entry of an index that can be claimed, in a queue that is not
// paused. It waits for one.
func (t *turns) next(ctx context.Context, x *index, kind domain.Kind, queue string, claim func(id string, h eventstore.Holds) error) error {
	for {
		h, err := t.holds.waitOpen(ctx, queue)
		if err != nil {
			return err
		}
		e, ok, wait := x.pop()
		if !ok {
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return ctx.Err()
			case <-t.closed.Done():
				return eventstore.ErrFenced
			}
		}
		err = claim(e.id, h)
		broken := errors.Is(err, eventstore.ErrBroken)
		t.unreadable.note(domain.Aggregate{Kind: kind, ID: e.id}, broken)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errMoved), errors.Is(err, eventstore.ErrNotFound):
		case errors.Is(err, eventstore.ErrLocked):
			x.later(e, lockedDelay)
		case broken:
			t.log.Error("a "+string(kind)+" cannot be read and is set aside: `accession verify` tells more", string(kind), e.id, "error", err)
			x.later(e, brokenDelay)
		case errors.Is(err, eventstore.ErrConflict):
			x.add(e) // its status or the holds moved meanwhile
		default:
			if x.later(e, lockedDelay); ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
}
