package limits

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/memory"
)

// counted counts the permits that are taken, and may fail.
type counted struct {
	eventstore.Hosts
	mu          sync.Mutex
	fails       bool
	taken, held int
}

func (c *counted) TakePermit(ctx context.Context, of eventstore.PermitOf, most int) (*eventstore.Permit, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fails && !of.Submitter {
		return nil, errors.New("no answer")
	}
	p, err := c.Hosts.TakePermit(ctx, of, most)
	if err == nil && !of.Submitter {
		c.taken++
		c.held++
	}
	return p, err
}

func (c *counted) ReturnPermit(p *eventstore.Permit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !p.Of.Submitter {
		c.held--
	}
	c.Hosts.ReturnPermit(p)
}

// now returns how many permits were taken in all, and are held.
func (c *counted) now() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d taken, %d held", c.taken, c.held)
}

const slow = "slow.example.org"

// Two processes together use a server with as many steps as may use it; who waits is woken
// when the other has left it, and an unused permit is kept only for a moment.
// Shows: P11
func TestPermits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := memory.New(memory.Options{})
		hosts := []*counted{{Hosts: srv.Session()}, {Hosts: srv.Session()}}
		gates := []*Gates{NewGates(map[string]int{"x": 10}, hosts[0], Most{3, 10}, nil), NewGates(map[string]int{"x": 10}, hosts[1], Most{3, 10}, nil)}
		var held []*Admission
		for n := range 6 {
			p := gates[n%2].Admission("x")
			if full := p.Take(t.Context(), "ana", slow); (full == "") != (n < 3) {
				t.Fatalf("worker %d: %q is full", n, full)
			} else if full == "" {
				held = append(held, p)
			}
		}
		waits := gates[1].Admission("x")
		changed := waits.Changed()
		if waits.Free(slow) || !waits.Free("fast.example.org") {
			t.Error("the wrong server is full")
		}
		held[0].Leave()
		again := gates[0].Admission("x")
		if full := again.Take(t.Context(), "ana", slow); full != "" || hosts[0].now() != "2 taken, 2 held" {
			t.Errorf("%q is full, and %s: the permit was kept", full, hosts[0].now())
		}
		again.Leave()
		for !waits.Free(slow) || waits.Take(t.Context(), "ana", slow) != "" {
			<-changed
			changed = waits.Changed()
		}
		if got := hosts[0].now(); got != "2 taken, 1 held" {
			t.Errorf("the other process has a permit, and of the first %s", got)
		}
	})
}

// A server for which no permit can be had in time is full for a moment; others are not.
// What was lost with a session is not used.
func TestPermitsWithoutAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := memory.New(memory.Options{})
		store := srv.Session()
		hosts := &counted{Hosts: store, fails: true}
		g := NewGates(map[string]int{"x": 4}, hosts, Most{1, 4}, nil)
		p := g.Admission("x")
		changed := p.Changed()
		if full := p.Take(t.Context(), "ana", slow); full != slow || p.Free(slow) || g.of["x"].busy != 0 {
			t.Errorf("%q is full, and %d workers are busy", full, g.of["x"].busy)
		}
		if full := p.Take(t.Context(), "ana"); full != "" {
			t.Errorf("%q is full for what needs no server", full)
		}
		hosts.fails = false
		p.Leave()
		for !p.Free(slow) {
			<-changed
			changed = p.Changed()
		}
		if full := p.Take(t.Context(), "ana", slow); full != "" || p.Lost() {
			t.Fatalf("%q is full", full)
		}
		srv.Expire(store)
		if !p.Lost() {
			t.Error("the permit is not lost")
		}
		p.Leave()
		if full := p.Take(t.Context(), "ana", slow); full != "" || p.Lost() {
			t.Errorf("%q is full, or lost: %v", full, p.Lost())
		}
	})
}

// Two processes together work for a submitter with as many steps as may, whatever servers
// these wait for; others are served meanwhile.
// Shows: P11
func TestPermitsOfSubmitters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := memory.New(memory.Options{})
		var gates []*Gates
		for range 2 {
			gates = append(gates, NewGates(map[string]int{"x": 10}, srv.Session(), Most{Host: 100, Submitter: 3}, nil))
		}
		var held []*Admission
		for n := range 6 {
			p := gates[n%2].Admission("x")
			full := p.Take(t.Context(), "mallory", fmt.Sprint("server", n))
			if full == "" {
				held = append(held, p)
			}
			if (full == "") != (n < 3) || n >= 3 && (full != "submitter mallory" || p.Open("mallory") || p.Free(full) || !p.Open("ana")) {
				t.Fatalf("step %d: %q is full", n, full)
			}
		}
		other := gates[1].Admission("x")
		if full := other.Take(t.Context(), "ana", slow); full != "" {
			t.Errorf("another waits for %q", full)
		}
		waits := gates[1].Admission("x")
		changed := waits.Changed()
		held[0].Leave()
		for !waits.Open("mallory") || waits.Take(t.Context(), "mallory", slow) != "" {
			<-changed
			changed = waits.Changed()
		}
	})
}
