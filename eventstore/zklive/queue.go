package zklive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
)

// How long an entry that cannot be claimed is set aside, and how often a queue's
// directory is checked for unknown changes. An entry that is locked again is set aside for
// twice as long, up to the limit: what others hold for long must not be tried so often that
// nothing else is.
const (
	lockedDelay = 2 * time.Second
	lockedLimit = 32 * time.Second
	brokenDelay = time.Minute
	pollEvery   = time.Second
	listEvery   = 5 * time.Second // a queue that has changed, whatever is known of it
)

// index is an ordered set of waiting work in memory, so that the cost of taking the
// next entry hardly depends on how many wait. It returns each entry once. An entry that
// another worker has locked is set aside, and returns after a time or when a worker has
// ended; one that a gate does not admit waits until it does.
type index struct {
	mu      sync.Mutex
	line    fair.Line
	aside   map[string]asideItem  // id → when to look again
	locked  map[string]int        // id → how often in a row it was locked
	blocked map[string]*fair.Line // what is full → what waits for it
	at      map[string]string     // id → what it waits for
	last    string                // the highest id that was in the line
	signal  chan struct{}         // closed when something may be there
	timer   *time.Timer
}

type asideItem struct {
	fair.Item
	due      time.Time
	released bool // by a worker, not locked by another
}

func newIndex() *index {
	return &index{aside: map[string]asideItem{}, locked: map[string]int{}, blocked: map[string]*fair.Line{}, at: map[string]string{}, signal: make(chan struct{})}
}

// add puts an entry in, or changes its rank.
func (x *index) add(e fair.Item) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.locked, e.ID)
	x.push(e)
	x.wake()
}

func (x *index) push(e fair.Item) {
	delete(x.aside, e.ID)
	x.unblock(e.ID)
	x.line.Put(e)
	x.last = max(x.last, e.ID)
}

func (x *index) wake() {
	close(x.signal)
	x.signal = make(chan struct{})
}

// remove takes an entry out, wherever it is.
func (x *index) remove(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.line.Remove(id)
	x.unblock(id)
	delete(x.aside, id)
	delete(x.locked, id)
}

// pop removes and returns the first entry that may pass a gate; if there is none it
// returns a channel that is closed when there may be one.
func (x *index) pop(g gate) (fair.Item, bool, <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for full, line := range x.blocked {
		if !g.free(full) {
			continue
		}
		if e, ok := line.Next(g.open); ok { // one at a time: it is admitted
			x.unblock(e.ID)
			x.line.Put(e)
		}
	}
	if e, ok := x.line.Next(g.open); ok {
		return e, true, nil
	}
	return fair.Item{}, false, x.signal
}

// block lets an entry wait until what is full admits work again.
func (x *index) block(e fair.Item, full string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.blocked[full] == nil {
		x.blocked[full] = &fair.Line{}
	}
	x.blocked[full].Put(e)
	x.at[e.ID] = full
}

// unblock ends the wait of an entry.
func (x *index) unblock(id string) {
	full, blocked := x.at[id]
	if !blocked {
		return
	}
	delete(x.at, id)
	if x.blocked[full].Remove(id); x.blocked[full].Len() == 0 {
		delete(x.blocked, full)
	}
}

// serve reports whether an entry that does not wait comes before all that wait, and
// counts it as a turn of its submitter then.
func (x *index) serve(e fair.Item) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.line.Serve(e)
}

// setAside sets an entry aside for a time.
func (x *index) setAside(e fair.Item, delay time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.aside[e.ID] = asideItem{Item: e, due: time.Now().Add(delay)}
	x.arm()
}

// setLocked sets an entry aside that another worker has locked.
func (x *index) setLocked(e fair.Item) {
	x.mu.Lock()
	n := x.locked[e.ID]
	x.locked[e.ID] = n + 1
	x.mu.Unlock()
	x.setAside(e, min(lockedDelay<<min(n, 8), lockedLimit))
}

// release puts an entry back that was released, after a time behind all that wait then.
func (x *index) release(e fair.Item, delay time.Duration) {
	if delay <= 0 {
		x.add(e)
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.aside[e.ID] = asideItem{Item: e, due: time.Now().Add(delay), released: true}
	x.arm()
}

// wakeReleased puts an entry back, where it was, that was released for a time.
func (x *index) wakeReleased(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if a, set := x.aside[id]; set && a.released {
		x.push(a.Item)
		x.wake()
	}
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
	x.timer = time.AfterFunc(time.Until(next), func() { x.restore(false) })
}

// restore puts back what is due, or everything that was set aside because it was
// locked.
func (x *index) restore(all bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now, some := time.Now(), false
	for _, a := range x.aside {
		if all && !a.released || !a.due.After(now) {
			if a.released {
				a.Behind = x.last
			}
			if all { // a worker has ended, perhaps the one that held it
				delete(x.locked, a.ID)
			}
			x.push(a.Item)
			some = true
		}
	}
	if some {
		x.wake()
	}
	x.arm()
}

// merge adds what a listing found and drops what it did not.
func (x *index) merge(found []fair.Item) {
	x.mu.Lock()
	defer x.mu.Unlock()
	there := make(map[string]bool, len(found))
	for _, e := range found {
		there[e.ID] = true
		_, set := x.aside[e.ID]
		if _, blocked := x.at[e.ID]; !set && !blocked {
			x.push(e)
		}
	}
	x.line.Keep(func(id string) bool { return there[id] })
	for id := range x.at {
		if !there[id] {
			x.unblock(id)
		}
	}
	maps.DeleteFunc(x.aside, func(id string, _ asideItem) bool { return !there[id] })
	maps.DeleteFunc(x.locked, func(id string, _ int) bool { return !there[id] })
	x.wake()
}

// gate is the part of an eventstore.Gate that an index looks at. The zero gate is open.
type gate struct {
	open    func(submitter string) bool
	isFree  func(full string) bool
	changed func() <-chan struct{}
	idle    func()
}

func gateOf[S domain.Batch | domain.Job](g eventstore.Gate[S]) gate {
	if g == nil {
		return gate{}
	}
	x := gate{open: g.Open, isFree: g.Free, changed: g.Changed}
	if i, is := g.(eventstore.Idler); is {
		x.idle = i.Idle
	}
	return x
}

func (g gate) free(full string) bool { return g.isFree == nil || g.isFree(full) }

func (g gate) changes() <-chan struct{} {
	if g.changed == nil {
		return nil
	}
	return g.changed()
}

// errFull says that a gate does not admit the entry.
type errFull struct{ what string }

// Error implements error.
func (e errFull) Error() string { return e.what + " admits no more work now" }

// passing returns a claim's condition that work is in its state and has passed the gate,
// and a function that is called with the claim's error.
func passing[S domain.Batch | domain.Job](ctx context.Context, g eventstore.Gate[S], in func(S) bool) (fits func(S) error, ended func(error)) {
	fits = func(is S) error {
		if !in(is) {
			return errMoved
		}
		if g != nil {
			if full := g.Enter(ctx, is); full != "" {
				return errFull{full}
			}
		}
		return nil
	}
	return fits, func(err error) {
		if err != nil && g != nil {
			g.Leave()
		}
	}
}

// errMoved says that the entry is no longer in the state of the index.
var errMoved = fmt.Errorf("moved on: %w", eventstore.ErrConflict)

// claimer claims the first entry of an index that can be claimed.
type claimer struct {
	holds      *holds
	unreadable *unreadable
	log        *slog.Logger
	closed     context.Context
}

// wait returns when an index has been filled.
func (t *claimer) wait(ctx context.Context, ready <-chan struct{}) error {
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
func (t *claimer) next(ctx context.Context, x *index, g gate, kind domain.Kind, queue string, claim func(id string, h eventstore.Holds) error) error {
	for {
		h, err := t.holds.waitOpen(ctx, queue)
		if err != nil {
			return err
		}
		changed := g.changes()
		e, ok, wait := x.pop(g)
		if !ok {
			if g.idle != nil {
				g.idle()
			}
			select {
			case <-wait:
				continue
			case <-changed:
				continue
			case <-ctx.Done():
				return ctx.Err()
			case <-t.closed.Done():
				return eventstore.ErrFenced
			}
		}
		err = claim(e.ID, h)
		broken := errors.Is(err, eventstore.ErrBroken)
		t.unreadable.set(domain.Aggregate{Kind: kind, ID: e.ID}, broken)
		var full errFull
		switch {
		case err == nil:
			return nil
		case errors.As(err, &full):
			x.block(e, full.what)
		case errors.Is(err, errMoved), errors.Is(err, eventstore.ErrNotFound):
		case errors.Is(err, eventstore.ErrLocked):
			x.setLocked(e)
		case broken:
			t.log.Error("a "+string(kind)+" cannot be read and is set aside: run `accession verify` for details", string(kind), e.ID, "error", err)
			x.setAside(e, brokenDelay)
		case errors.Is(err, eventstore.ErrConflict):
			x.add(e) // its status or the holds moved meanwhile
		default:
			if x.setAside(e, lockedDelay); ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
}
