// Package fair has the rules by which submitters share the workers: who is served next,
// and how much one of them, or one server, may hold.
package fair

import (
	"cmp"
	"container/heap"
	"slices"
)

// Item is a waiting batch or job.
type Item struct {
	ID        string
	Rank      int    // its priority: the lower rank comes first
	Submitter string // "" is a submitter like any other
	// Behind is the last of the ids that the item comes behind, "" = it has its own
	// position. Work that was released for a time has it: otherwise what fails again and
	// again would come before the rest each time.
	Behind string
}

// Before reports whether an item comes before another one of its submitter.
func (a Item) Before(b Item) bool {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(max(a.ID, a.Behind), max(b.ID, b.Behind)),
		cmp.Compare(a.Behind, b.Behind), cmp.Compare(a.ID, b.ID)) < 0
}

// Line is the waiting work of one state. The lower rank comes first, always. Inside a
// rank the submitters are served in turn, so that none is served twice while another
// waits; a submitter who comes anew joins behind the others. Inside a submitter the
// order is that of Before. The cost of an operation does not depend on how much waits;
// that of Next grows with the number of submitters who may not be served.
// The zero Line is empty.
type Line struct {
	laps  []*lap          // by rank, of what waits
	there map[string]Item // by id; anything else in the laps is outdated
}

// lap is the waiting work of one rank; the first of its turns is served next.
type lap struct {
	rank  int
	turns []*turn
	of    map[string]*turn
}

// turn is the waiting work of one submitter in one rank.
type turn struct {
	submitter string
	items     items
}

// Len returns how many items wait.
func (l *Line) Len() int { return len(l.there) }

// Has reports whether an item waits, in its rank.
func (l *Line) Has(i Item) bool {
	was, there := l.there[i.ID]
	return there && was.Rank == i.Rank && was.Submitter == i.Submitter
}

// Put adds an item, or gives the item with its id another rank. An item that waits in
// the same rank keeps its position.
func (l *Line) Put(i Item) {
	if l.Has(i) {
		return
	}
	if l.there == nil {
		l.there = map[string]Item{}
	}
	l.there[i.ID] = i
	n, found := slices.BinarySearchFunc(l.laps, i.Rank, func(p *lap, rank int) int { return cmp.Compare(p.rank, rank) })
	if !found {
		l.laps = slices.Insert(l.laps, n, &lap{rank: i.Rank, of: map[string]*turn{}})
	}
	p := l.laps[n]
	t := p.of[i.Submitter]
	if t == nil {
		t = &turn{submitter: i.Submitter}
		p.of[i.Submitter], p.turns = t, append(p.turns, t)
	}
	heap.Push(&t.items, i)
}

// Remove takes an item out.
func (l *Line) Remove(id string) {
	if delete(l.there, id); len(l.there) == 0 {
		l.laps, l.there = nil, nil // neither shrinks after a long queue
	}
}

// Keep takes out all items but some.
func (l *Line) Keep(some func(id string) bool) {
	for id := range l.there {
		if !some(id) {
			l.Remove(id)
		}
	}
}

// Next takes out the item that is served next. may reports whether a submitter may be
// served, nil = each may.
func (l *Line) Next(may func(submitter string) bool) (Item, bool) {
	for _, p := range l.laps {
		for n := 0; n < len(p.turns); {
			t := p.turns[n]
			top, ok := l.top(t)
			switch {
			case !ok:
				p.end(n)
			case may != nil && !may(t.submitter):
				n++
			default:
				heap.Pop(&t.items)
				p.served(n)
				l.Remove(top.ID)
				return top, true
			}
		}
	}
	return Item{}, false
}

// Serve reports whether an item that does not wait would be served next if it did, and
// notes then that its submitter was served.
func (l *Line) Serve(i Item) bool {
	for _, p := range l.laps {
		if p.rank > i.Rank {
			break
		}
		for len(p.turns) > 0 {
			t := p.turns[0]
			top, ok := l.top(t)
			if !ok {
				p.end(0)
				continue
			}
			if p.rank < i.Rank || t.submitter != i.Submitter || top.Before(i) {
				return false
			}
			p.served(0)
			return true
		}
	}
	return true
}

// top returns a submitter's first item. It drops the outdated ones before it.
func (l *Line) top(t *turn) (Item, bool) {
	for len(t.items) > 0 {
		if top := t.items[0]; l.there[top.ID] == top {
			return top, true
		}
		heap.Pop(&t.items)
	}
	return Item{}, false
}

// served moves a turn to the end.
func (p *lap) served(n int) {
	t := p.turns[n]
	p.turns = append(slices.Delete(p.turns, n, n+1), t)
}

// end ends the turn of a submitter for whom nothing waits.
func (p *lap) end(n int) {
	delete(p.of, p.turns[n].submitter)
	p.turns = slices.Delete(p.turns, n, n+1)
}

type items []Item

func (h items) Len() int           { return len(h) }
func (h items) Less(i, k int) bool { return h[i].Before(h[k]) }
func (h items) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }
func (h *items) Push(i any)        { *h = append(*h, i.(Item)) }
func (h *items) Pop() any {
	old := *h
	i := old[len(old)-1]
	*h = old[:len(old)-1]
	return i
}
