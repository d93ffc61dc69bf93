package limits

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/accession-ingest/accession/eventstore"
)

// How permits are used.
const (
	permitTime  = 5 * time.Second // after which a permit that is not answered for is not had
	permitEvery = time.Second     // between two attempts to take one for a server that had none
	permitIdle  = 2 * time.Second // how long an unused one is kept
)

// permits are what this process holds of the permits for servers. One that is not used
// any more is kept for a moment, so that a busy server costs no write for each step.
type permits struct {
	hosts eventstore.Hosts
	most  int    // for one server, in all processes
	freed func() // is called when a server may have a permit again

	mu   sync.Mutex
	idle map[string][]idle // by server, the one that was used last at the end
	none map[string]bool   // servers for which there was none a moment ago
}

// idle is an unused permit.
type idle struct {
	*eventstore.Permit
	since time.Time
}

func newPermits(hosts eventstore.Hosts, most int, freed func()) *permits {
	return &permits{hosts: hosts, most: most, freed: freed, idle: map[string][]idle{}, none: map[string]bool{}}
}

// take takes a permit for a server, nil = it may have none now.
func (p *permits) take(ctx context.Context, server string) *eventstore.Permit {
	for {
		had := p.reuse(server)
		if had == nil {
			break
		}
		if !lost(had) {
			return had
		}
		p.hosts.ReturnPermit(had)
	}
	ctx, cancel := context.WithTimeout(ctx, permitTime)
	defer cancel()
	taken, err := p.hosts.TakePermit(ctx, server, p.most)
	if err != nil {
		p.missed(server)
		return nil
	}
	return taken
}

// reuse returns an unused permit, nil = there is none.
func (p *permits) reuse(server string) *eventstore.Permit {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle[server]) - 1
	if n < 0 {
		return nil
	}
	had := p.idle[server][n]
	p.keep(server, p.idle[server][:n])
	return had.Permit
}

// missed notes that there is no permit for a server, for a moment.
func (p *permits) missed(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.none[server] {
		return
	}
	p.none[server] = true
	time.AfterFunc(permitEvery, func() { p.may(server) })
}

// may ends that, and lets those look who wait.
func (p *permits) may(server string) {
	p.mu.Lock()
	delete(p.none, server)
	p.mu.Unlock()
	p.freed()
}

// missing reports whether there was no permit for a server a moment ago.
func (p *permits) missing(server string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.none[server] && len(p.idle[server]) == 0
}

// put ends the use of a permit.
func (p *permits) put(used *eventstore.Permit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep(used.Host, append(p.idle[used.Host], idle{used, time.Now()}))
	time.AfterFunc(permitIdle, func() { p.end(used.Host) })
}

// end returns the permits for a server that were not used for long.
func (p *permits) end(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := func(i idle) bool { return time.Since(i.since) >= permitIdle }
	for _, i := range p.idle[server] {
		if old(i) {
			p.hosts.ReturnPermit(i.Permit)
		}
	}
	p.keep(server, slices.DeleteFunc(p.idle[server], old))
}

// keep sets the unused permits for a server. The mutex is held.
func (p *permits) keep(server string, unused []idle) {
	if p.idle[server] = unused; len(unused) == 0 {
		delete(p.idle, server)
	}
}

// lost reports whether the session has ended under which a permit was taken.
func lost(p *eventstore.Permit) bool {
	select {
	case <-p.Lost:
		return true
	default:
		return false
	}
}
