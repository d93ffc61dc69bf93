package rings

import (
	"context"
	"errors"
	"maps"
	"path"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/text"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

const (
	// maxNews bounds what is kept for the next decision; beyond it the queue is read again.
	maxNews = 10_000
	// parallel is how many nodes are read at once.
	parallel = 32
	// asideFor is how long a user is not served whose first batch cannot be read, or is
	// locked.
	asideFor = 10 * time.Second
)

// queue is a deposit queue in the memory of this process. The ring node says which
// writes it has missed. What is wrong here is refused by the server, never written.
type queue struct {
	conn *session.Conn
	root layout.Root
	name string

	// deciding is held from a decision until it is written, and while the ring changes.
	deciding sync.Mutex
	ring     fair.Ring
	state    eventstore.RingState
	token    eventstore.Token
	loaded   bool
	runs     map[string]string    // batch → user
	early    []string             // deposits that ended before this process has followed their grab
	fullRead time.Time            // when the running batches of full users were read
	aside    map[string]time.Time // users whose first batch cannot be grabbed, and until when
	refused  refusal              // the last one
	times    int                  // how often the same was refused, one after the other

	mu     sync.Mutex
	inbox  []news
	signal chan struct{}
}

// refusal is a decision that was refused: the deposit, and what the decision relied on that
// other processes change.
type refusal struct {
	deposit  string
	writes   int64 // of the ring
	settings eventstore.Token
	running  int // deposits of the user
	token    eventstore.Token
}

// news is what became known of a queue without a decision of this process.
type news struct {
	user    string // who has a new batch
	slot    int64
	deposit fair.Deposit
	ended   string // a deposit that runs no longer
}

func newQueue(conn *session.Conn, root layout.Root, name string) *queue {
	return &queue{conn: conn, root: root, name: name, signal: make(chan struct{}), runs: map[string]string{}, aside: map[string]time.Time{}}
}

// changes returns a channel that is closed when something may be there to grab.
func (q *queue) changes() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.signal
}

func (q *queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	close(q.signal)
	q.signal = make(chan struct{})
}

// tell keeps news for the next decision, and wakes those who wait.
func (q *queue) tell(n news) {
	q.mu.Lock()
	if len(q.inbox) <= maxNews {
		q.inbox = append(q.inbox, n)
	}
	q.mu.Unlock()
	q.wake()
}

// hear applies the news. Those that come late change nothing for long: what they say wrongly
// is refused by the server, and then read again.
func (q *queue) hear() {
	q.mu.Lock()
	all := q.inbox
	q.inbox = nil
	q.mu.Unlock()
	if len(all) > maxNews {
		q.loaded = false
		return
	}
	for _, n := range all {
		if n.ended != "" {
			if !q.end(n.ended) {
				q.early = append(q.early, n.ended)
			}
			continue
		}
		if slot, joins := q.ring.Slot(n.user); !joins && slot == n.slot {
			q.ring.Put(n.user, n.deposit)
		}
	}
}

// end ends a deposit that is known to run.
func (q *queue) end(id string) bool {
	user, runs := q.runs[id]
	if runs {
		q.ring.End(user, id)
		delete(q.runs, id)
	}
	return runs
}

// follow brings the ring to the state that the tree has.
func (q *queue) follow(ctx context.Context) error {
	q.hear()
	var now eventstore.RingState
	stat, err := q.conn.GetJSON(ctx, q.root.Ring(q.name), &now)
	if err != nil {
		return q.failed(err)
	}
	steps, ok := now.Since(q.state.Writes)
	if !q.loaded || !ok {
		return q.load(ctx)
	}
	for _, s := range steps {
		if err := q.apply(s); err != nil {
			return q.load(ctx)
		}
	}
	for _, id := range q.early {
		q.end(id)
	}
	q.early = nil
	q.state, q.token = now, eventstore.Token(stat.Version)
	return nil
}

// apply applies a write of another process.
func (q *queue) apply(s eventstore.RingStep) error {
	d := fair.Deposit{ID: s.Deposit, Number: eventstore.DepositNumber(s.Deposit), Size: s.Size}
	switch s.Rule {
	case eventstore.StepJoined:
		q.ring.Join(s.User, s.Slot)
		return nil
	case eventstore.StepReturned:
		delete(q.runs, d.ID)
		q.ring.End(s.User, d.ID)
		q.ring.Put(s.User, d)
		return nil
	}
	return q.applied(fair.Decision{Rule: s.Rule, User: s.User, Slot: s.Slot, Deposit: d, Emptied: s.Emptied, After: fair.Position(s.RingPosition)})
}

// applied brings the ring to the state after a decision.
func (q *queue) applied(d fair.Decision) error {
	if err := q.ring.Apply(d); err != nil {
		return err
	}
	if d.Rule.Grabbed() {
		q.runs[d.Deposit.ID] = d.User
	}
	return nil
}

// load reads the users of the ring and the batches that run. The batches that wait are
// read when a decision depends on them.
func (q *queue) load(ctx context.Context) error {
	q.loaded = false
	for {
		var now eventstore.RingState
		stat, err := q.conn.GetJSON(ctx, q.root.Ring(q.name), &now)
		if err != nil {
			return q.failed(err)
		}
		names, err := q.conn.List(ctx, q.root.RingUsers(q.name))
		if err != nil {
			return q.failed(err)
		}
		again, err := q.conn.Exists(ctx, q.root.Ring(q.name))
		if err != nil {
			return q.failed(err)
		}
		if again == nil || again.Version != stat.Version {
			continue // every user who comes or leaves writes the ring
		}
		q.ring, q.runs = fair.Ring{}, map[string]string{}
		for _, name := range names {
			if slot, user, ok := layout.ParseRingUser(name); ok {
				q.ring.Join(user, slot)
			}
		}
		q.ring.Seek(fair.Position(now.RingPosition), now.NextSlot-1)
		users, err := q.conn.List(ctx, q.root.AllRunning(q.name))
		if err != nil {
			return q.failed(err)
		}
		var known []string
		for _, name := range users {
			if user, err := text.DecodeUser(name); err == nil {
				known = append(known, user)
			}
		}
		if err := q.readRunning(ctx, known); err != nil {
			return err
		}
		q.state, q.token, q.loaded, q.early = now, eventstore.Token(stat.Version), true, nil
		return nil
	}
}

// readRunning reads which batches of users run.
func (q *queue) readRunning(ctx context.Context, users []string) error {
	found := make([][]string, len(users))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, user := range users {
		g.Go(func() (err error) {
			if found[i], err = q.conn.List(gctx, q.root.Running(q.name, user)); errors.Is(err, zk.ErrNoNode) {
				return nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return q.failed(err)
	}
	for i, user := range users {
		for id, of := range q.runs {
			if of == user {
				delete(q.runs, id)
			}
		}
		q.ring.SetRunning(user, found[i])
		for _, id := range found[i] {
			q.runs[id] = user
		}
	}
	return nil
}

// readWaiting reads the waiting batches of a user.
func (q *queue) readWaiting(ctx context.Context, user string, slot int64) error {
	names, err := q.conn.List(ctx, q.root.RingUser(q.name, user, slot))
	if errors.Is(err, zk.ErrNoNode) {
		return layout.ErrRing // the user has left meanwhile
	}
	if err != nil {
		return q.failed(err)
	}
	var all []fair.Deposit
	for _, name := range names {
		if d, ok := layout.ParseRingEntry(path.Base(name)); ok {
			all = append(all, d)
		}
	}
	q.ring.Read(user, all)
	return nil
}

// aggregate returns the deposit of an id in this queue.
func (q *queue) aggregate(id string) domain.Aggregate {
	if q.name == fair.QueueQuery {
		return domain.QueryID(id).Aggregate()
	}
	return domain.BatchID(id).Aggregate()
}

// decide decides who is grabbed, with how many batches of the user run. errNone: nothing may be grabbed.
func (q *queue) decide(ctx context.Context, c fair.Config, p fair.Processor) (d fair.Decision, running int, token eventstore.Token, err error) {
	c = q.without(c)
	for again := true; ; {
		switch d = q.ring.Grab(c, p); d.Rule {
		case fair.RuleRead:
			if err := q.readWaiting(ctx, d.User, d.Slot); err != nil {
				return d, 0, 0, err
			}
		case fair.RuleNone:
			if !again {
				return d, 0, 0, errNone
			}
			again = false
			if err := q.readFull(ctx, c); err != nil {
				return d, 0, 0, err
			}
		default:
			n, token, err := q.countRunning(ctx, d.User)
			if err != nil || n == q.ring.Running(d.User) {
				return d, n, token, err
			}
			if err := q.readRunning(ctx, []string{d.User}); err != nil {
				return d, 0, 0, err
			}
			if now := q.ring.Running(d.User); now != n {
				return d, 0, 0, layout.ErrRing // it changes at this moment
			}
		}
	}
}

// readFull reads, at most once in a poll, what runs of the users who have all that they
// may: another process may have ended some of it.
func (q *queue) readFull(ctx context.Context, c fair.Config) error {
	if time.Since(q.fullRead) < pollEvery {
		return nil
	}
	q.fullRead = time.Now()
	var full []string
	for _, user := range q.ring.Users() {
		if n := q.ring.Running(user); n > 0 && n >= c.Concurrency.For(user) {
			full = append(full, user)
		}
	}
	return q.readRunning(ctx, full)
}

// countRunning returns how many batches of a user run, and the token of that number.
func (q *queue) countRunning(ctx context.Context, user string) (int, eventstore.Token, error) {
	var n layout.RunningCount
	stat, err := q.conn.GetJSON(ctx, q.root.Running(q.name, user), &n)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return 0, 0, nil
	case err != nil:
		return 0, 0, q.failed(err)
	}
	return n.N, eventstore.Token(stat.Version), nil
}

// park decides that a batch leaves without being grabbed.
func (q *queue) park(ctx context.Context, b eventstore.Deposit, write func(eventstore.Leave) error) error {
	q.deciding.Lock()
	defer q.deciding.Unlock()
	if err := q.follow(ctx); err != nil {
		return err
	}
	d := q.ring.Park(b.Ticket.User, b.Aggregate.ID)
	if d.Rule != fair.RuleParked { // not known here
		if err := q.readWaiting(ctx, b.Ticket.User, b.Ticket.Slot); err != nil {
			return errNone
		}
		d = q.ring.Park(b.Ticket.User, b.Aggregate.ID)
	}
	if d.Rule != fair.RuleParked {
		return errNone
	}
	return q.write(write, eventstore.Leave{Queue: q.name, Decision: d, Deposit: b.Aggregate, Ring: q.state, RingToken: q.token})
}

// write writes a decision. After a refusal the ring is read again, after a second one of the
// same deposit also what waits of its user, which may be much.
func (q *queue) write(write func(eventstore.Leave) error, l eventstore.Leave) error {
	err := write(l)
	var refused *domain.Refused
	switch {
	case err == nil:
		q.loaded = q.applied(l.Decision) == nil // else it is read again
		q.state, q.token, q.refused, q.times = q.state.After(l.Step()), q.token+1, refusal{}, 0
		return nil
	case errors.Is(err, eventstore.ErrUnknown):
		q.loaded = false
		return err
	case errors.Is(err, eventstore.ErrBroken), errors.Is(err, eventstore.ErrLocked):
		q.aside[l.Decision.User] = time.Now().Add(asideFor)
		return err
	case errors.As(err, &refused), errors.Is(err, eventstore.ErrNotFound): // it has left meanwhile
		err = layout.ErrRing
	}
	last, now := q.refused, refusal{l.Decision.Deposit.ID, l.Ring.Writes, l.Settings, l.Running, l.RunningToken}
	if now != last {
		q.refused, q.times = now, 0
	}
	if now.deposit != last.deposit { // another process was faster, and the ring says how
		return err
	}
	q.ring.Forget(l.Decision.User)
	if errors.Is(err, layout.ErrRing) { // and not what is full, lost or paused
		q.times++
	}
	if q.times < maxRefused {
		return err
	}
	q.times = 0
	q.aside[l.Decision.User] = time.Now().Add(asideFor)
	return &eventstore.Error{Op: "grab", Aggregate: l.Deposit, Err: eventstore.ErrBroken, Hint: "it waits in the deposit queue, but cannot leave it"}
}

// maxRefused is how often the same decision is refused, what waits of the user being read
// again each time, until the user is passed over for a while: no other process was faster,
// since nothing has changed that the decision relies on.
const maxRefused = 10

// without returns a configuration by which users are not served whose first batch cannot
// be grabbed for a while: those behind them go on.
func (q *queue) without(c fair.Config) fair.Config {
	maps.DeleteFunc(q.aside, func(_ string, until time.Time) bool { return time.Now().After(until) })
	if len(q.aside) == 0 {
		return c
	}
	of := maps.Clone(c.Concurrency.Of)
	if of == nil {
		of = map[string]int{}
	}
	for user := range q.aside {
		of[user] = 0
	}
	c.Concurrency.Of = of
	return c
}

func (q *queue) failed(err error) error {
	return &eventstore.Error{Op: "read the deposit queue " + q.name, Err: err}
}
