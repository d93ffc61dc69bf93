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

// Most is how many steps of all processes may work at once.
type Most struct {
	Host      int // with one server
	Submitter int // for one submitter
}

// permits are what this process holds of the permits for servers and submitters. One that
// is not used any more is kept for a moment, so that a busy server costs no write for each
// step.
type permits struct {
	hosts eventstore.Hosts
	most  Most
	freed func() // is called when there may be a permit again
	rests *resting

	mu   sync.Mutex
	idle map[eventstore.PermitOf][]idle // the one that was used last at the end
	none map[eventstore.PermitOf]bool   // of what there was none a moment ago
}

// idle is an unused permit.
type idle struct {
	*eventstore.Permit
	since time.Time
}

func newPermits(hosts eventstore.Hosts, most Most, rests Rests, freed func()) *permits {
	return &permits{hosts: hosts, most: most, freed: freed, rests: &resting{read: rests}, idle: map[eventstore.PermitOf][]idle{}, none: map[eventstore.PermitOf]bool{}}
}

// take takes a permit, nil = there is none now. There is none for a server that has asked to be
// left alone.
func (p *permits) take(ctx context.Context, of eventstore.PermitOf) *eventstore.Permit {
	alone := !of.Submitter && p.rests.has(ctx, of.Name)
	for {
		had := p.reuse(of)
		if had == nil {
			break
		}
		if !alone && !lost(had) {
			return had
		}
		p.hosts.ReturnPermit(had)
	}
	if alone {
		p.missed(of)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, permitTime)
	defer cancel()
	most := p.most.Host
	if of.Submitter {
		most = p.most.Submitter
	}
	taken, err := p.hosts.TakePermit(ctx, of, most)
	if err != nil {
		p.missed(of)
		return nil
	}
	return taken
}

// reuse returns an unused permit, nil = there is none.
func (p *permits) reuse(of eventstore.PermitOf) *eventstore.Permit {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle[of]) - 1
	if n < 0 {
		return nil
	}
	had := p.idle[of][n]
	p.keep(of, p.idle[of][:n])
	return had.Permit
}

// missed notes that there is no such permit, for a moment.
func (p *permits) missed(of eventstore.PermitOf) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.none[of] {
		return
	}
	p.none[of] = true
	time.AfterFunc(permitEvery, func() { p.may(of) })
}

// may ends that, and lets those look who wait.
func (p *permits) may(of eventstore.PermitOf) {
	p.mu.Lock()
	delete(p.none, of)
	p.mu.Unlock()
	p.freed()
}

// missing reports whether there was no such permit a moment ago.
func (p *permits) missing(of eventstore.PermitOf) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.none[of] && len(p.idle[of]) == 0
}

// put ends the use of a permit.
func (p *permits) put(used *eventstore.Permit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep(used.Of, append(p.idle[used.Of], idle{used, time.Now()}))
	time.AfterFunc(permitIdle, func() { p.end(used.Of) })
}

// end returns the permits of a kind that were not used for long.
func (p *permits) end(of eventstore.PermitOf) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := func(i idle) bool { return time.Since(i.since) >= permitIdle }
	for _, i := range p.idle[of] {
		if old(i) {
			p.hosts.ReturnPermit(i.Permit)
		}
	}
	p.keep(of, slices.DeleteFunc(p.idle[of], old))
}

// keep sets the unused permits of a kind. The mutex is held.
func (p *permits) keep(of eventstore.PermitOf, unused []idle) {
	if p.idle[of] = unused; len(unused) == 0 {
		delete(p.idle, of)
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
