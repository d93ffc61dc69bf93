package fair

import (
	"cmp"
	"container/heap"
)

// waiting is the queue of one user, a heap by number. Its zero value is empty.
type waiting struct {
	heap []Deposit
	at   map[string]int // by id, the index in heap
}

func (w *waiting) has(id string) bool { _, there := w.at[id]; return there }

func (w *waiting) get(id string) Deposit { return w.heap[w.at[id]] }

// first returns the head of a queue that is not empty.
func (w *waiting) first() Deposit { return w.heap[0] }

func (w *waiting) put(d Deposit) { heap.Push(w, d) }

func (w *waiting) remove(id string) {
	if i, there := w.at[id]; there {
		heap.Remove(w, i)
	}
}

// Len implements heap.Interface.
func (w *waiting) Len() int { return len(w.heap) }

// Less implements heap.Interface.
func (w *waiting) Less(i, k int) bool {
	a, b := w.heap[i], w.heap[k]
	return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.ID, b.ID)) < 0
}

// Swap implements heap.Interface.
func (w *waiting) Swap(i, k int) {
	w.heap[i], w.heap[k] = w.heap[k], w.heap[i]
	w.at[w.heap[i].ID], w.at[w.heap[k].ID] = i, k
}

// Push implements heap.Interface.
func (w *waiting) Push(d any) {
	if w.at == nil {
		w.at = map[string]int{}
	}
	w.at[d.(Deposit).ID] = len(w.heap)
	w.heap = append(w.heap, d.(Deposit))
}

// Pop implements heap.Interface.
func (w *waiting) Pop() any {
	last := len(w.heap) - 1
	d := w.heap[last]
	delete(w.at, d.ID)
	w.heap = w.heap[:last]
	return d
}
