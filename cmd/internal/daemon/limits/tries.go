// Package limits counts what the daemons of a process may do at once ([Workers]) and how
// often in a row ([Tries]).
package limits

import (
	"sync"

	"github.com/accession-ingest/accession/domain"
)

// Tries counts how often work was released in a row, for the pause that grows. It is
// kept in memory: after a restart everything may be tried again.
type Tries struct {
	mu sync.Mutex
	by map[domain.Aggregate]try
}

// NewTries returns a count of nothing.
func NewTries() *Tries { return &Tries{by: map[domain.Aggregate]try{}} }

type try struct {
	round        string
	ours, theirs int
}

// Again counts one more for the aggregate as it is now, and returns how many there
// were.
func (t *Tries) Again(a domain.Aggregate, round string, theirs bool) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	is := t.by[a]
	if is.round != round {
		is = try{round: round}
	}
	n := &is.ours
	if theirs {
		n = &is.theirs
	}
	*n++
	t.by[a] = is
	return *n
}

// Count returns how often work on the aggregate as it is now was released.
func (t *Tries) Count(a domain.Aggregate, round string, theirs bool) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	is := t.by[a]
	switch {
	case is.round != round:
		return 0
	case theirs:
		return is.theirs
	default:
		return is.ours
	}
}

// Answered forgets how often in a row the servers of others failed an aggregate: one of them works.
func (t *Tries) Answered(a domain.Aggregate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if is, counted := t.by[a]; counted {
		is.theirs = 0
		t.by[a] = is
	}
}

// Done forgets an aggregate that has changed state.
func (t *Tries) Done(a domain.Aggregate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.by, a)
}
