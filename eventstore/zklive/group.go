package zklive

import (
	"context"
	"errors"
	"sync"

	"github.com/go-zookeeper/zk"
)

// Group commit: decisions and claims that wait at the same moment travel in one
// multi. A few committers each take what has gathered while the others were under
// way, so that one that comes alone is sent at once.
const (
	committers = 2
	maxGroup   = 64 // plans in one multi
)

// errNotSent: the multi did not reach a server, or was refused as a whole for a
// reason that is none of the plan's.
var errNotSent = errors.New("not sent")

// errand is a plan on its way to the server.
type errand struct {
	p    *plan
	done chan verdict // takes one
}

// verdict is what became of a plan.
type verdict struct {
	answers []zk.MultiResponse // of the plan's own operations, when err is nil
	zxid    int64              // 0 = not known
	err     error              // nil = written
	meaning error              // of the server's refusal
}

// groups gathers plans.
type groups struct {
	s     *Store
	mu    sync.Mutex
	some  *sync.Cond // queue is not empty, or the store is closed
	queue []*errand
	// Used again and again by take.
	checks  map[check]int
	touched map[string]bool
}

func newGroups(s *Store) *groups {
	g := &groups{s: s, checks: map[check]int{}, touched: map[string]bool{}}
	g.some = sync.NewCond(&g.mu)
	if s.cfg.GroupCommit {
		context.AfterFunc(s.ctx, func() { g.mu.Lock(); defer g.mu.Unlock(); g.some.Broadcast() })
		for range committers {
			s.goes(g.work)
		}
	}
	return g
}

// send brings a plan to the server, with others when it may share a multi, and
// gives its own verdict. When ctx ends before that, the outcome is unknown, or
// errNotSent if it was not yet on its way.
func (g *groups) send(ctx context.Context, p *plan) verdict {
	e := &errand{p: p, done: make(chan verdict, 1)}
	if g.s.cfg.GroupCommit && !p.alone {
		g.mu.Lock()
		g.queue = append(g.queue, e)
		g.mu.Unlock()
		g.some.Signal()
	} else {
		m := &multi{}
		m.join(e)
		go g.s.deliver(m, 0)
	}
	select {
	case v := <-e.done:
		return v
	case <-ctx.Done():
		return g.withdraw(e, ctx.Err())
	case <-g.s.ctx.Done():
		return g.withdraw(e, zk.ErrClosing)
	}
}

func (g *groups) withdraw(e *errand, why error) verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, q := range g.queue {
		if q == e {
			g.queue = append(g.queue[:i:i], g.queue[i+1:]...)
			return verdict{err: errors.Join(errNotSent, why)}
		}
	}
	return verdict{err: why}
}

// work is one committer.
func (g *groups) work() {
	for {
		g.mu.Lock()
		for len(g.queue) == 0 && g.s.ctx.Err() == nil {
			g.some.Wait()
		}
		if g.s.ctx.Err() != nil {
			g.mu.Unlock()
			return
		}
		m := g.take()
		if len(g.queue) > 0 {
			g.some.Signal()
		}
		g.mu.Unlock()
		g.s.deliver(m, 0)
	}
}

// take removes from the queue what may share a multi with its first errand.
func (g *groups) take() *multi {
	m, left := &multi{checks: g.checks, touched: g.touched}, g.queue[:0]
	for _, e := range g.queue {
		if len(m.errands) == maxGroup || !m.join(e) {
			left = append(left, e)
		}
	}
	m.checks, m.touched = nil, nil
	clear(g.checks)
	clear(g.touched)
	clear(g.queue[len(left):])
	g.queue = left
	return m
}
