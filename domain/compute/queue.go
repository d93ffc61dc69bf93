package compute

import (
	"cmp"
	"slices"

	"github.com/accession-ingest/accession/domain/entry"
)

// LookAhead is how many of the oldest entries of a priority a worker looks at for one of a
// group that it has. PassLimit is how often an entry may be passed over by default.
const (
	LookAhead = 16
	PassLimit = 1
)

// Waiting is an entry that waits.
type Waiting struct {
	entry.Name
	Passed int // how often a younger entry of its priority was taken before it, as far as known
}

// Wants is what a worker takes.
type Wants struct {
	// Datasets are those whose entries it takes, none = of all that are for no state of jobs ([OfState]).
	Datasets []string
	// Cached reports whether the worker has what the entries of a group need. Nil = of none.
	Cached func(entry.Group) bool
	// PassLimit is how often an entry may be passed over.
	PassLimit int
}

// Choice is the entry that a worker takes, and the older ones that it passes over.
type Choice struct {
	Take   Waiting
	Passed []Waiting
}

// Queue has the entries that wait, by priority, dataset and sequence. Its zero value is
// empty.
type Queue struct {
	levels  []*level // the priority that runs first comes first
	entries map[int64]*Waiting
}

// level has the entries of one priority.
type level struct {
	priority entry.Priority
	all      sequences // but for those of [OfState]
	datasets map[string]*sequences
}

// Len returns how many entries wait.
func (q *Queue) Len() int { return len(q.entries) }

// Has reports whether an entry waits.
func (q *Queue) Has(sequence int64) bool { return q.entries[sequence] != nil }

// Put adds an entry, or replaces what is known of it.
func (q *Queue) Put(w Waiting) {
	if q.entries == nil {
		q.entries = map[int64]*Waiting{}
	}
	if known := q.entries[w.Sequence]; known != nil && known.Name == w.Name {
		known.Passed = w.Passed
		return
	}
	q.Remove(w.Sequence)
	q.entries[w.Sequence] = &w
	i, there := q.level(w.Priority)
	if !there {
		q.levels = slices.Insert(q.levels, i, &level{priority: w.Priority, datasets: map[string]*sequences{}})
	}
	l := q.levels[i]
	if !OfState(w.Dataset) {
		l.all.insert(w.Sequence)
	}
	if l.datasets[w.Dataset] == nil {
		l.datasets[w.Dataset] = &sequences{}
	}
	l.datasets[w.Dataset].insert(w.Sequence)
}

// Remove removes an entry, if it is there.
func (q *Queue) Remove(sequence int64) {
	w := q.entries[sequence]
	if w == nil {
		return
	}
	delete(q.entries, sequence)
	i, _ := q.level(w.Priority)
	l := q.levels[i]
	l.all.remove(sequence)
	if of := l.datasets[w.Dataset]; of.remove(sequence) == 0 {
		delete(l.datasets, w.Dataset)
	}
	if len(l.datasets) == 0 {
		q.levels = slices.Delete(q.levels, i, i+1)
	}
}

// level returns where a priority is, or would be.
func (q *Queue) level(p entry.Priority) (int, bool) {
	return slices.BinarySearchFunc(q.levels, p, func(l *level, p entry.Priority) int {
		switch {
		case l.priority.Before(p):
			return -1
		case p.Before(l.priority):
			return 1
		}
		return 0
	})
}

// Choose returns the entry that a worker takes next, if there is one: of the priority that
// runs first the oldest, unless a younger one among the first [LookAhead] is of a group that
// the worker has, and none of those before it was passed over as often as it may be.
func (q *Queue) Choose(w Wants) (Choice, bool) {
	for _, l := range q.levels {
		if first := l.first(w.Datasets); len(first) > 0 {
			return q.choose(first, w), true
		}
	}
	return Choice{}, false
}

// first returns the oldest entries of some datasets, at most LookAhead.
func (l *level) first(datasets []string) []int64 {
	if len(datasets) == 0 {
		return l.all.s[:min(LookAhead, len(l.all.s))]
	}
	var first []int64
	for i, name := range datasets {
		if of := l.datasets[name]; of != nil && !slices.Contains(datasets[:i], name) {
			first = append(first, of.s[:min(LookAhead, len(of.s))]...)
		}
	}
	slices.Sort(first)
	return first[:min(LookAhead, len(first))]
}

// choose chooses among the oldest entries of a priority.
func (q *Queue) choose(first []int64, w Wants) Choice {
	var older []Waiting
	for _, sequence := range first {
		e := *q.entries[sequence]
		if w.Cached != nil && w.Cached(e.Group) {
			return Choice{e, older}
		}
		if e.Passed >= w.PassLimit {
			break
		}
		older = append(older, e)
	}
	return Choice{Take: *q.entries[first[0]]}
}

// sequences is a sorted list of numbers. Those that come are mostly higher than all others,
// those that go mostly lower than most.
type sequences struct{ s []int64 }

func (l *sequences) insert(n int64) {
	if i, there := slices.BinarySearch(l.s, n); !there {
		l.s = slices.Insert(l.s, i, n)
	}
}

// remove removes a number, and returns how many are left.
func (l *sequences) remove(n int64) int {
	if i, there := slices.BinarySearch(l.s, n); there {
		copy(l.s[1:i+1], l.s[:i])
		l.s = l.s[1:]
	}
	return len(l.s)
}

// Sequences returns the numbers of all entries that wait, sorted.
func (q *Queue) Sequences() []int64 {
	all := make([]int64, 0, len(q.entries))
	for n := range q.entries {
		all = append(all, n)
	}
	slices.SortFunc(all, cmp.Compare[int64])
	return all
}
