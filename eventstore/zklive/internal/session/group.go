package session

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

const (
	senders  = 2
	maxGroup = 64 // requests in one multi
)

// Group implements group commit: requests that wait at the same time share one multi. A
// few senders each take the requests that have arrived while the others were
// busy; a single request is sent at once.
type Group struct {
	direct   *Direct
	mu       sync.Mutex
	notEmpty *sync.Cond // queue is not empty, or the connection is closed
	queue    []*Request
	// Reused by take.
	checks  map[check]int
	touched map[string]bool
}

// NewGroup returns a group commit over a sender.
func NewGroup(d *Direct) *Group {
	g := &Group{direct: d, checks: map[check]int{}, touched: map[string]bool{}}
	g.notEmpty = sync.NewCond(&g.mu)
	context.AfterFunc(d.Conn.ctx, func() { g.mu.Lock(); defer g.mu.Unlock(); g.notEmpty.Broadcast() })
	for range senders {
		d.Conn.Spawn(g.work)
	}
	return g
}

// Send is like that of Direct, but requests that may share a multi are sent together.
// If ctx ends before the request is sent, the error is ErrNotSent.
func (g *Group) Send(ctx context.Context, r *Request) Result {
	if r.Alone {
		return g.direct.Send(ctx, r)
	}
	r.done = make(chan Result, 1)
	g.direct.begin(r)
	g.mu.Lock()
	g.queue = append(g.queue, r)
	g.mu.Unlock()
	g.notEmpty.Signal()
	select {
	case res := <-r.done:
		return res
	case <-ctx.Done():
		return g.withdraw(r, ctx.Err())
	case <-g.direct.Conn.ctx.Done():
		return g.withdraw(r, zk.ErrClosing)
	}
}

func (g *Group) withdraw(r *Request, why error) Result {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.queue, r); i >= 0 {
		g.queue = slices.Delete(g.queue, i, i+1)
		g.direct.end(r)
		return Result{Err: errors.Join(ErrNotSent, why)}
	}
	return Result{Err: why}
}

// work runs one sender.
func (g *Group) work() {
	for {
		g.mu.Lock()
		for len(g.queue) == 0 && g.direct.Conn.ctx.Err() == nil {
			g.notEmpty.Wait()
		}
		if g.direct.Conn.ctx.Err() != nil {
			g.mu.Unlock()
			return
		}
		m := g.take()
		if len(g.queue) > 0 {
			g.notEmpty.Signal()
		}
		g.mu.Unlock()
		g.deliver(m, 0)
	}
}

// take removes from the queue its first request, with those that may share a multi with
// it.
func (g *Group) take() *multi {
	m, left := &multi{checks: g.checks, touched: g.touched}, g.queue[:0]
	n := 0
	for _, r := range g.queue[:min(len(g.queue), maxGroup)] {
		n += len(r.Ops)
	}
	m.ops, m.owner, m.requests = make(layout.Ops, 0, n), make([]int, 0, n), make([]*Request, 0, min(len(g.queue), maxGroup))
	for _, r := range g.queue {
		if len(m.requests) == maxGroup || !m.join(r) {
			left = append(left, r)
		}
	}
	m.checks, m.touched = nil, nil // only join uses them
	clear(g.checks)
	clear(g.touched)
	clear(g.queue[len(left):])
	g.queue = left
	return m
}

// multi is a set of requests that do not touch each other's nodes. A check that several
// of them need is sent once; their events share one outbox item for each shard.
type multi struct {
	requests  []*Request
	ops       layout.Ops
	owner     []int // of each operation: the request that it belongs to, or shared
	additions []Addition
	n, bytes  int             // of all requests, at most
	checks    map[check]int   // index of each check
	touched   map[string]bool // nodes that are checked (false) or written (true)
}

// shared is the owner of a check that several requests asked for.
const shared = -1

type check struct {
	path    string
	version int32
}

// join adds a request, unless it does not fit, or touches what another writes, or
// writes what another touches: the later of the two would find the node changed. The
// first request is always added.
func (m *multi) join(r *Request) bool {
	index := len(m.requests)
	n, bytes, _ := r.Size()
	if index > 0 && (m.n+n > maxOps || m.bytes+bytes > maxBytes || slices.ContainsFunc(r.Ops, m.conflicts)) {
		return false
	}
	if m.touched == nil {
		m.checks, m.touched = make(map[check]int, 8), make(map[string]bool, 64)
	}
	for _, op := range r.Ops {
		if op.Kind == layout.Check {
			key := check{op.Path, op.Version}
			if at, there := m.checks[key]; there && m.owner[at] != index {
				m.owner[at] = shared
				continue
			}
			m.checks[key] = len(m.ops)
		}
		m.ops, m.owner = append(m.ops, op), append(m.owner, index)
		m.touched[op.Path] = m.touched[op.Path] || op.Writes()
	}
	for _, e := range r.additions {
		m.additions = merge(m.additions, e)
	}
	m.requests, m.n, m.bytes = append(m.requests, r), m.n+n, m.bytes+bytes
	return true
}

func (m *multi) conflicts(op layout.Op) bool {
	written, there := m.touched[op.Path]
	return there && (written || op.Writes())
}

// deliver sends a multi and replies to each request. A refusal applies to all of them:
// then they are tried again, see split.
func (g *Group) deliver(m *multi, refusals int) {
	g.direct.write(m.ops, m.additions, func(res Result, op int) {
		if Answered(res.Err) && len(m.requests) > 1 {
			g.split(m, op, refusals+1)
			return
		}
		res.Refusal = m.ops.Refusal(op)
		for _, r := range m.requests {
			g.direct.end(r)
			r.done <- res
		}
	})
}

// Flush is that of Direct.
func (g *Group) Flush(ctx context.Context) error { return g.direct.Flush(ctx) }

// split sends the requests of a refused multi again. The request whose operation was
// refused is sent alone, so that it gets its own result, and the others together; after
// a second refusal, or one of a shared check, each is sent alone.
func (g *Group) split(m *multi, op, refusals int) {
	refused := shared
	if op >= 0 && refusals == 1 {
		refused = m.owner[op]
	}
	var parts []*multi
	rest := &multi{}
	for i, r := range m.requests {
		if refused != shared && i != refused {
			rest.join(r) // as it did before
			continue
		}
		one := &multi{}
		one.join(r)
		parts = append(parts, one)
	}
	if len(rest.requests) > 0 {
		parts = append(parts, rest)
	}
	var all sync.WaitGroup
	for _, part := range parts {
		all.Go(func() { g.deliver(part, refusals) })
	}
	all.Wait()
}
