package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/accession-ingest/accession/eventstore"
)

var _ eventstore.Hosts = (*Store)(nil)

// permits are the permits that are held. They have a mutex of their own: gates take them
// while that of the server is held.
type permits struct {
	mu   sync.Mutex
	held map[permit]string // by whom
	now  map[*Store]session
}

type permit struct {
	host string
	n    int
}

// session is what a store is at present.
type session struct {
	worker string
	lost   <-chan struct{}
}

// begin notes the present session of a store.
func (p *permits) begin(s *Store) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now[s] = session{s.worker, s.lost}
}

// end ends the permits of a worker.
func (p *permits) end(worker string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.held, func(_ permit, by string) bool { return by == worker })
}

// TakePermit implements eventstore.Hosts.
func (s *Store) TakePermit(ctx context.Context, host string, most int) (*eventstore.Permit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := &s.server.permits
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := range most {
		if at := (permit{host, n}); p.held[at] == "" {
			by := p.now[s]
			p.held[at] = by.worker
			return &eventstore.Permit{Host: host, Number: n, Worker: by.worker, Lost: by.lost}, nil
		}
	}
	return nil, &eventstore.Error{Op: "take a permit for " + host, Err: eventstore.ErrLocked}
}

// Permits implements eventstore.Hosts.
func (s *Store) Permits(ctx context.Context, named int) ([]eventstore.HostPermits, error) {
	p := &s.server.permits
	p.mu.Lock()
	defer p.mu.Unlock()
	of := map[string]int{}
	for held := range p.held {
		of[held.host]++
	}
	hosts := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(of[b]-of[a], cmp.Compare(a, b)) })
	all := make([]eventstore.HostPermits, len(hosts))
	for i, host := range hosts {
		if all[i].Held = of[host]; i < named {
			all[i].Host = host
		}
	}
	return all, ctx.Err()
}

// ReturnPermit implements eventstore.Hosts.
func (s *Store) ReturnPermit(of *eventstore.Permit) {
	p := &s.server.permits
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := (permit{of.Host, of.Number}); p.held[at] == of.Worker {
		delete(p.held, at)
	}
}
