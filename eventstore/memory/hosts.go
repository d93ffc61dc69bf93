package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

var _ eventstore.Hosts = (*Store)(nil)

// permits are the permits that are taken. They have a mutex of their own: gates take them
// while that of the server is held.
type permits struct {
	mu    sync.Mutex
	taken map[permit]string // by whom
	space map[domain.FileHash]filePromise
	now   map[*Store]session
}

// filePromise is working space that a worker has promised to a file.
type filePromise struct {
	eventstore.FilePromise
	worker string
}

type permit struct {
	of eventstore.PermitOf
	n  int
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
	maps.DeleteFunc(p.taken, func(_ permit, by string) bool { return by == worker })
	maps.DeleteFunc(p.space, func(_ domain.FileHash, by filePromise) bool { return by.worker == worker })
}

// TakePermit implements eventstore.Hosts.
func (s *Store) TakePermit(ctx context.Context, of eventstore.PermitOf, most int) (*eventstore.Permit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := &s.server.permits
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := range most {
		if at := (permit{of, n}); p.taken[at] == "" {
			by := p.now[s]
			p.taken[at] = by.worker
			return &eventstore.Permit{Of: of, Number: n, Worker: by.worker, Lost: by.lost}, nil
		}
	}
	return nil, &eventstore.Error{Op: "take a permit for " + of.String(), Err: eventstore.ErrLocked}
}

// Permits implements eventstore.Hosts.
func (s *Store) Permits(ctx context.Context, named int) ([]eventstore.PermitsTaken, error) {
	p := &s.server.permits
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := map[eventstore.PermitOf]int{}
	for permit := range p.taken {
		taken[permit.of]++
	}
	sorted := slices.SortedFunc(maps.Keys(taken), func(a, b eventstore.PermitOf) int {
		return cmp.Or(taken[b]-taken[a], cmp.Compare(a.String(), b.String()))
	})
	all := make([]eventstore.PermitsTaken, len(sorted))
	for i, of := range sorted {
		if all[i] = (eventstore.PermitsTaken{Of: of, Taken: taken[of]}); i >= named {
			all[i].Of.Name = ""
		}
	}
	return all, ctx.Err()
}

// ReturnPermit implements eventstore.Hosts.
func (s *Store) ReturnPermit(p *eventstore.Permit) {
	all := &s.server.permits
	all.mu.Lock()
	defer all.mu.Unlock()
	if at := (permit{p.Of, p.Number}); all.taken[at] == p.Worker {
		delete(all.taken, at)
	}
}
