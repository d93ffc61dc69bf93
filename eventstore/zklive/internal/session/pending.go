package session

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// pending has the requests that have no result yet, whether their senders still wait or
// not.
type pending struct {
	mu sync.Mutex
	of map[*Request]chan struct{} // closed with the result
}

func (p *pending) begin(r *Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[*Request]chan struct{}{}
	}
	p.of[r] = make(chan struct{})
}

func (p *pending) end(r *Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if done := p.of[r]; done != nil {
		close(done)
		delete(p.of, r)
	}
}

// Flush returns once every request that was sent before has its result. A sender that
// has stopped waiting does not know whether its request will be sent once more; after
// Flush what it reads is final. Its error is that of ctx.
func (p *pending) Flush(ctx context.Context) error {
	p.mu.Lock()
	all := slices.Collect(maps.Values(p.of))
	p.mu.Unlock()
	for _, done := range all {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
