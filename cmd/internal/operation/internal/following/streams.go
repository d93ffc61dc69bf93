package following

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain/access"
)

// Streams counts the streams that are open in a process.
type Streams struct {
	mu sync.Mutex
	n  int
	of map[string]int // by name of the user
}

// Enter counts a stream until the request ends, and refuses one too many.
func (s *Streams) Enter(request context.Context, user string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n >= maxStreams || s.of[user] >= maxStreamsOfOne {
		limit := access.Limit{Name: "event-streams", Quota: maxStreamsOfOne, Left: max(0, maxStreamsOfOne-s.of[user]), Reset: time.Minute}
		return &app.Error{Kind: app.Full, What: "follow events", Err: &access.Exceeded{Limit: limit, Err: fmt.Errorf("%d streams are open in this process, %d of them are yours", s.n, s.of[user])},
			Hint: "end others, or ask another process", RetryAfter: time.Minute}
	}
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.n++
	s.of[user]++
	context.AfterFunc(request, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.n--
		if s.of[user]--; s.of[user] == 0 {
			delete(s.of, user)
		}
	})
	return nil
}
