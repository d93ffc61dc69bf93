package zklive

import (
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/internal/crash"
)

// multi is one request that carries the operations of one plan or of several. What
// several check is checked once; their events share one outbox node a shard.
type multi struct {
	errands []*errand
	ops     []any
	bytes   int
	owner   []int           // of each operation: the plan it belongs to, or shared
	place   [][]int         // of each plan's own operations: where they stand
	checks  map[check]int   // where each check stands
	touched map[string]bool // nodes that are checked (false) or written (true)
	nodes   []outboxNode
}

// shared is the owner of a check that several plans asked for.
const shared = -1

type check struct {
	path    string
	version int32
}

// outboxNode is what a multi puts into a shard of the outbox.
type outboxNode struct {
	shard  int
	parts  [][]byte // events of the plans, encoded
	events [][]domain.Recorded
	bucket int64
	op     int // that creates it
}

// join adds an errand. It refuses one that does not fit, and one that touches what
// another writes, or writes what another touches: the later of the two would not
// find it as it expects. The first always fits.
func (m *multi) join(e *errand) bool {
	p, n := e.p, len(m.errands)
	if m.touched == nil {
		m.checks, m.touched = make(map[check]int, 8), make(map[string]bool, 64)
	}
	// Each shard's node takes two operations more, and some bytes.
	nodes := len(m.nodes) + len(p.events)
	if n > 0 && (len(m.ops)+len(p.ops)+2*nodes > maxOps || m.bytes+p.bytes+nodeBytes*nodes > maxBytes) {
		return false
	}
	for _, op := range p.ops {
		path, writes := target(op)
		if written, there := m.touched[path]; there && (written || writes) {
			return false
		}
	}
	places := make([]int, len(p.ops))
	for i, op := range p.ops {
		path, writes := target(op)
		if c, ok := op.(*zk.CheckVersionRequest); ok {
			key := check{c.Path, c.Version}
			if at, there := m.checks[key]; there {
				places[i], m.owner[at] = at, shared
				continue
			}
			m.checks[key] = len(m.ops)
		}
		places[i] = len(m.ops)
		m.ops, m.owner = append(m.ops, op), append(m.owner, n)
		m.touched[path] = m.touched[path] || writes
	}
	m.errands, m.place = append(m.errands, e), append(m.place, places)
	m.bytes += p.bytes
	for _, e := range p.events {
		i := slices.IndexFunc(m.nodes, func(n outboxNode) bool { return n.shard == e.shard })
		if i < 0 {
			i = len(m.nodes)
			m.nodes = append(m.nodes, outboxNode{shard: e.shard})
		}
		m.nodes[i].parts, m.nodes[i].events = append(m.nodes[i].parts, e.data), append(m.nodes[i].events, e.events)
	}
	return true
}

// nodeBytes is what the two operations of an outbox node take beside its data, at
// most.
const nodeBytes = 512

// target gives the node that an operation is about, and whether it writes it.
func target(op any) (path string, writes bool) {
	switch o := op.(type) {
	case *zk.CreateRequest:
		return o.Path, true
	case *zk.SetDataRequest:
		return o.Path, true
	case *zk.DeleteRequest:
		return o.Path, true
	case *zk.CheckVersionRequest:
		return o.Path, false
	}
	return "", true
}

// close adds the outbox nodes, in the buckets that take nodes now.
func (m *multi) close(o *outboxState) {
	for i := range m.nodes {
		n := &m.nodes[i]
		n.bucket = o.bucket(n.shard)
		dir := o.s.paths.bucket(n.shard, n.bucket)
		n.op = len(m.ops) + 1
		m.ops = append(m.ops, &zk.CheckVersionRequest{Path: dir, Version: 0},
			&zk.CreateRequest{Path: dir + "/e-", Data: codec.JoinOutbox(n.parts), Acl: acl, Flags: zk.FlagSequence})
		m.owner = append(m.owner, shared, shared)
	}
}

// meaning says what the refusal of an operation means for a plan.
func (m *multi) meaning(plan, op int) error {
	if i := slices.Index(m.place[plan], op); i >= 0 {
		return m.errands[plan].p.meaning[i]
	}
	return eventstore.ErrConflict
}

// refused finds the operation that the server refused, -1 = it does not say.
func refused(answers []zk.MultiResponse) int {
	return slices.IndexFunc(answers, func(a zk.MultiResponse) bool { return a.Error != nil && answered(a.Error) })
}

// deliver sends a multi and gives each errand its verdict. A refusal refuses all of
// them: then each is tried again, see split.
func (s *Store) deliver(m *multi, refusals int) {
	own := len(m.ops)
	for {
		m.ops, m.owner = m.ops[:own], m.owner[:own]
		m.close(s.outbox)
		crash.Point("zklive/deliver/before-multi")
		answers, err := s.conn.Multi(m.ops...)
		crash.Point("zklive/deliver/after-multi")
		if err == nil {
			s.delivered(m, answers)
			return
		}
		op := -1
		if answered(err) {
			op = refused(answers)
		}
		switch {
		case op >= own: // the bucket was closed
			if s.outbox.refresh(s.ctx) == nil {
				continue
			}
			m.all(verdict{err: errNotSent})
		case !answered(err):
			m.all(verdict{err: err})
		case len(m.errands) == 1:
			m.all(verdict{err: err, meaning: m.meaning(0, op)})
		default:
			s.split(m, op, refusals+1)
		}
		return
	}
}

func (m *multi) all(v verdict) {
	for _, e := range m.errands {
		e.done <- v
	}
}

// split goes on after the refusal of several errands. The one that it was about is
// tried alone, so that it gets its own answer, and the others together; the second
// time, or when it was about what several check, each goes alone.
func (s *Store) split(m *multi, op, refusals int) {
	parts := make([]*multi, 0, len(m.errands))
	about := -1
	if op >= 0 && refusals == 1 {
		about = m.owner[op]
	}
	rest := &multi{}
	for i, e := range m.errands {
		if about != shared && i != about {
			rest.join(e) // as it did before
			continue
		}
		one := &multi{}
		one.join(e)
		parts = append(parts, one)
	}
	if len(rest.errands) > 0 {
		parts = append(parts, rest)
	}
	var all sync.WaitGroup
	for _, part := range parts {
		all.Go(func() { s.deliver(part, refusals) })
	}
	all.Wait()
}

// delivered gives each errand the answers to its own operations.
func (s *Store) delivered(m *multi, answers []zk.MultiResponse) {
	var zxid int64
	for _, a := range answers {
		if a.Stat != nil {
			zxid = a.Stat.Mzxid
		}
	}
	for i, e := range m.errands {
		own := make([]zk.MultiResponse, len(m.place[i]))
		for k, at := range m.place[i] {
			own[k] = answers[at]
		}
		e.done <- verdict{answers: own, zxid: zxid}
	}
	for _, n := range m.nodes {
		s.outbox.wrote(n, answers[n.op].String, zxid)
	}
}
