package operation

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain/access"
)

// atOnce counts the requests of one kind that a process is answering, and limits them.
type atOnce struct {
	name    string        // of the limit, in the headers of answers
	what    string        // the request, such as "follow events"
	counted string        // what is counted, such as "streams are open"
	all     int           // how many one process answers
	ofOne   int           // how many of these are of one user
	wait    time.Duration // after which one that was refused may be sent again

	mu sync.Mutex
	n  int
	of map[string]int // by name of the user
}

// enter counts a request of a user until its context ends, and refuses one too many.
func (r *atOnce) enter(request context.Context, user string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n >= r.all || r.of[user] >= r.ofOne {
		limit := access.Limit{Name: r.name, Quota: r.ofOne, Left: max(0, r.ofOne-r.of[user]), Reset: r.wait}
		return &app.Error{Kind: app.Full, What: r.what, Err: &access.Exceeded{Limit: limit, Err: fmt.Errorf("%d %s in this process, %d of them are yours", r.n, r.counted, r.of[user])},
			Hint: "end others, or ask another process", RetryAfter: r.wait}
	}
	if r.of == nil {
		r.of = map[string]int{}
	}
	r.n++
	r.of[user]++
	context.AfterFunc(request, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.n--
		if r.of[user]--; r.of[user] == 0 {
			delete(r.of, user)
		}
	})
	return nil
}
