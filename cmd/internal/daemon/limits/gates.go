package limits

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
)

// Gates bound how many workers of each daemon one submitter, and one server, may hold,
// as [fair.Share] says, and how many steps of all processes use one server.
type Gates struct {
	mu      sync.Mutex
	of      map[string]*held // by daemon
	changed chan struct{}    // closed when a place was given back
	permits *permits
}

// held are the workers of a daemon that are busy; apart are as many of their own.
type held struct {
	share fair.Share
	busy  int
	by    map[holder]int
	apart *held
}

func newHeld(workers int, apart *held) *held {
	return &held{share: fair.Share{Workers: workers}, by: map[holder]int{}, apart: apart}
}

// holder is a submitter or a server.
type holder struct {
	server bool
	name   string
}

// NewGates returns the gates of some numbers of workers, by their daemons. Of the steps of
// all processes, not more than most use one server at once.
func NewGates(workers map[string]int, hosts eventstore.Hosts, most int) *Gates {
	g := &Gates{of: map[string]*held{}, changed: make(chan struct{})}
	g.permits = newPermits(hosts, most, g.signal)
	for daemon, n := range workers {
		g.of[daemon] = newHeld(n, newHeld(n, nil))
	}
	return g
}

// signal wakes those who wait for a place.
func (g *Gates) signal() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wake()
}

// wake is signal, with the mutex held.
func (g *Gates) wake() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// Place returns the place of one worker at the gate of its daemon, not yet taken.
func (g *Gates) Place(daemon string) *Place { return &Place{gates: g, at: g.of[daemon]} }

// Place is what one worker holds. It is used by one goroutine at a time.
type Place struct {
	gates   *Gates
	at      *held
	holders []holder
	permits []*eventstore.Permit
}

// Apart returns the place, nil = none, for one of the workers apart if it is of them: they
// begin also while all others are busy.
func (p *Place) Apart(is bool) *Place {
	if p != nil && is {
		p.at = p.at.apart
	}
	return p
}

// Open reports whether a submitter may hold another worker.
func (p *Place) Open(submitter string) bool { return p.may(holder{name: submitter}) }

// Free reports whether a server may hold another worker.
func (p *Place) Free(server string) bool {
	return p.may(holder{true, server}) && !p.gates.permits.missing(server)
}

func (p *Place) may(h holder) bool {
	p.gates.mu.Lock()
	defer p.gates.mu.Unlock()
	return p.at.share.May(p.at.by[h], p.at.busy)
}

// Take takes the place for work of a submitter that waits for servers, instead of what
// it was taken for before. If one of the servers may not hold another worker, or is used
// by as many steps as may use it, it is returned, and the place is not taken. The
// submitter was asked about by Open.
func (p *Place) Take(ctx context.Context, submitter string, servers ...string) (full string) {
	p.Leave()
	full = p.hold(func() string {
		for _, s := range servers {
			if !p.at.share.May(p.at.by[holder{true, s}], p.at.busy) {
				return s
			}
		}
		p.at.busy++
		p.note(holder{name: submitter})
		return ""
	}, servers)
	if full == "" {
		if full = p.permit(ctx, servers); full != "" {
			p.Leave()
		}
	}
	return full
}

// MaxPermits is for how many further servers a step takes permits.
const MaxPermits = 32

// Also makes a place that was taken one that waits for other servers too, those first
// that are used most: it takes permits for [MaxPermits] of them. If one of the servers may
// not hold another worker, or be used by another step, it is returned; the place must be
// left then.
func (p *Place) Also(ctx context.Context, servers ...string) (full string) {
	full = p.hold(func() string {
		for _, s := range servers {
			if p.at.by[holder{true, s}] > 0 && !p.at.share.May(1, p.at.busy-1) {
				return s
			}
		}
		return ""
	}, servers)
	if full != "" {
		return full
	}
	return p.permit(ctx, servers[:min(len(servers), MaxPermits)])
}

// Lost reports whether a permit has ended that the place needs, with its session.
func (p *Place) Lost() bool { return p != nil && slices.ContainsFunc(p.permits, lost) }

// permit takes permits for servers, up to the first for which there is none.
func (p *Place) permit(ctx context.Context, servers []string) (full string) {
	for _, s := range servers {
		taken := p.gates.permits.take(ctx, s)
		if taken == nil {
			return s
		}
		p.permits = append(p.permits, taken)
	}
	return ""
}

// hold notes servers as holders of the worker, unless one of them may not be.
func (p *Place) hold(full func() string, servers []string) string {
	p.gates.mu.Lock()
	defer p.gates.mu.Unlock()
	if s := full(); s != "" {
		return s
	}
	for _, s := range servers {
		p.note(holder{true, s})
	}
	return ""
}

// note notes a holder of the worker. The mutex is held.
func (p *Place) note(h holder) {
	p.at.by[h]++
	p.holders = append(p.holders, h)
}

// Leave ends the hold on the worker, if there is one.
func (p *Place) Leave() {
	if p == nil || p.holders == nil {
		return
	}
	for _, permit := range p.permits {
		p.gates.permits.put(permit)
	}
	p.permits = nil
	p.gates.mu.Lock()
	defer p.gates.mu.Unlock()
	for _, h := range p.holders {
		p.at.by[h]--
	}
	maps.DeleteFunc(p.at.by, func(_ holder, n int) bool { return n <= 0 })
	p.at.busy--
	p.holders = nil
	p.gates.wake()
}

// Changed returns a channel that is closed when a place was given back.
func (p *Place) Changed() <-chan struct{} {
	p.gates.mu.Lock()
	defer p.gates.mu.Unlock()
	return p.gates.changed
}
