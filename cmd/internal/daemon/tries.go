package daemon

import (
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// maxTries is how often in a row this process gives a job back for the same
// trouble before it fails; maxDelay bounds the pause in between.
const (
	maxTries = 6
	maxDelay = time.Minute
)

// tries counts how often work was given back in a row, for the pause that grows.
// It is kept in memory: after a restart everything may be tried again.
type tries struct {
	first time.Duration
	mu    sync.Mutex
	by    map[domain.Aggregate]try
}

type try struct {
	version int64
	n       int
}

func newTries(first time.Duration) *tries {
	return &tries{first: first, by: map[domain.Aggregate]try{}}
}

// again counts one more for the aggregate as it is now, and gives how many there
// were and how long to pause.
func (t *tries) again(a domain.Aggregate, version int64) (n int, delay time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	is := t.by[a]
	if is.version != version {
		is = try{version: version}
	}
	is.n++
	t.by[a] = is
	delay = t.first << min(is.n-1, 10)
	return is.n, min(delay, max(maxDelay, t.first))
}

// count gives how often work on the aggregate as it is now was given back.
func (t *tries) count(a domain.Aggregate, version int64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if is := t.by[a]; is.version == version {
		return is.n
	}
	return 0
}

// done forgets an aggregate that moved on.
func (t *tries) done(a domain.Aggregate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.by, a)
}
