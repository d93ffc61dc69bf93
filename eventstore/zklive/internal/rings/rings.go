// Package rings follows the deposit queues in the tree and decides who is grabbed next.
package rings

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// pollEvery is how long this process may miss a write of another one, if it does not see
// the event in the log.
const pollEvery = time.Second

// Holds returns the holds, once no pause stops claims in a queue.
type Holds func(ctx context.Context, queue string) (eventstore.Holds, error)

// Rings implements eventstore.Rings.
type Rings struct {
	session  *session.Session
	root     layout.Root
	settings eventstore.DepositQueues
	holds    Holds
	used     bool // the tree has deposit queues
	log      *slog.Logger
	queues   map[string]*queue
}

// New returns the deposit queues of a tree. If used is false no batch gets a ticket, but
// those that have one are grabbed.
func New(s *session.Session, root layout.Root, settings eventstore.DepositQueues, holds Holds, used bool, log *slog.Logger) *Rings {
	x := &Rings{session: s, root: root, settings: settings, holds: holds, used: used, log: log, queues: map[string]*queue{}}
	for _, name := range layout.RingQueues {
		x.queues[name] = newQueue(s.Conn, root, name)
	}
	return x
}

// Ticket implements eventstore.Rings.
func (x *Rings) Ticket(ctx context.Context, name, user string) (*domain.Ticket, error) {
	if !x.used {
		return nil, nil
	}
	p := &domain.Ticket{Queue: name, User: user}
	_, err := x.session.GetJSON(ctx, x.root.RingName(name, user), &p.Slot)
	if errors.Is(err, zk.ErrNoNode) {
		var ring eventstore.RingState
		_, err = x.session.GetJSON(ctx, x.root.Ring(name), &ring)
		p.Slot = ring.NextSlot
	}
	if err != nil {
		return nil, &eventstore.Error{Op: "read the deposit queue " + name, Err: err}
	}
	return p, nil
}

// Inputs returns what a change of a deposit needs to know of its deposit queue, nil =
// nothing. A ticket that is not the next one any more is ErrConflict.
func (x *Rings) Inputs(ctx context.Context, c eventstore.Change) (*layout.RingInputs, error) {
	from, to, ok := c.Deposits()
	if !ok || c.Observed != nil {
		return nil, nil
	}
	switch {
	case !from.Waits() && to.Waits():
		return x.joining(ctx, *to.Ticket, from.Version > 0)
	case from.Runs() && !to.Runs():
		var in layout.RingInputs
		var n layout.RunningCount
		stat, err := x.session.GetJSON(ctx, x.root.RunningOf(*from.Ticket), &n)
		if err != nil {
			return nil, &eventstore.Error{Op: "count the running batches of " + from.Ticket.User, Err: err}
		}
		in.Running, in.RunningToken = n.N, stat.Version
		return &in, nil
	}
	return nil, nil
}

// joining returns what was read for a batch that joins.
func (x *Rings) joining(ctx context.Context, p domain.Ticket, returned bool) (*layout.RingInputs, error) {
	in := layout.RingInputs{Returned: returned}
	var slot int64
	_, err := x.session.GetJSON(ctx, x.root.RingName(p.Queue, p.User), &slot)
	if in.Joins = errors.Is(err, zk.ErrNoNode); in.Joins {
		err = nil
	}
	if err == nil && (in.Joins || returned) {
		var stat *zk.Stat
		if stat, err = x.session.GetJSON(ctx, x.root.Ring(p.Queue), &in.Now); err == nil {
			in.Token = stat.Version
		}
	}
	switch {
	case err != nil:
		return nil, &eventstore.Error{Op: "read the deposit queue " + p.Queue, Err: err}
	case !in.Joins && slot != p.Slot, in.Joins && in.Now.NextSlot != p.Slot:
		return nil, &eventstore.Error{Op: "join the deposit queue " + p.Queue, Err: layout.ErrRing}
	}
	return &in, nil
}

// Committed takes a change that this process has written.
func (x *Rings) Committed(c eventstore.Change) {
	from, to, ok := c.Deposits()
	if !ok || c.Leave != nil {
		return
	}
	switch {
	case !from.Waits() && to.Waits():
		x.queues[to.Ticket.Queue].tell(news{user: to.Ticket.User, slot: to.Ticket.Slot, deposit: to.Entry()})
	case from.Runs() && !to.Runs():
		x.queues[from.Ticket.Queue].tell(news{ended: from.Aggregate.ID})
	}
}

// Observe takes an event that was read from the log.
func (x *Rings) Observe(r domain.Recorded) {
	if m, is := domain.MoveOfQuery(r.Data); is {
		x.observeQuery(r, m)
		return
	}
	m, ok := domain.MoveOfBatch(r.Data)
	switch {
	case !ok:
	case r.Type == domain.EventBatchGrabbed:
	case m.Ticket.Waits():
		d := fair.Deposit{ID: r.Aggregate.ID, Number: domain.BatchID(r.Aggregate.ID).Number()}
		if s, is := r.Data.(*domain.BatchSubmitted); is {
			d.Size = s.Submission.Size
			if q := x.queues[m.Ticket.Queue]; q != nil {
				q.tell(news{user: m.Ticket.User, slot: m.Ticket.Slot, deposit: d})
			}
		} else { // one that returns writes the ring
			x.wake(m.Ticket.Queue)
		}
	case r.Type == domain.EventBatchFreed || r.Type == domain.EventBatchHeld || r.Type == domain.EventBatchCompleted || r.Type == domain.EventBatchFailed:
		for _, q := range x.queues {
			q.tell(news{ended: r.Aggregate.ID})
		}
	}
}

// observeQuery takes an event of a query.
func (x *Rings) observeQuery(r domain.Recorded, m domain.QueryMove) {
	switch q := x.queues[fair.QueueQuery]; {
	case r.Type == domain.EventQueryReceived:
		d := eventstore.Deposit{Aggregate: r.Aggregate}
		if asked, is := r.Data.(*domain.QueryReceived); is {
			d.Size = asked.Request.Size
		}
		q.tell(news{user: m.Ticket.User, slot: m.Ticket.Slot, deposit: d.Entry()})
	case r.Type == domain.EventQueryUnparked: // it writes the ring
		q.wake()
	case m.From == asked.Grabbed:
		q.tell(news{ended: r.Aggregate.ID})
	}
}

// RunningIn implements eventstore.Rings.
func (x *Rings) RunningIn(ctx context.Context, name string) ([]string, error) {
	failed := func(err error) ([]string, error) {
		return nil, &eventstore.Error{Op: "read the deposit queue " + name, Err: err}
	}
	var ids []string
	for _, dir := range x.root.RunningDirs(name) {
		counts, err := x.session.List(ctx, dir)
		if err != nil {
			return failed(err)
		}
		for _, count := range counts {
			of, err := x.session.List(ctx, dir+"/"+count)
			if err != nil && !errors.Is(err, zk.ErrNoNode) {
				return failed(err)
			}
			ids = append(ids, of...)
		}
	}
	return ids, nil
}

func (x *Rings) wake(name string) {
	if q := x.queues[name]; q != nil {
		q.wake()
	}
}

// errNone says that nothing may be grabbed now.
var errNone = errors.New("nothing may be grabbed")

// Grab implements eventstore.Rings.
func (x *Rings) Grab(ctx context.Context, name, processor string, write func(eventstore.Leave) error) error {
	q := x.queues[name]
	if q == nil {
		return &eventstore.Error{Op: "grab from the deposit queue " + name, Err: eventstore.ErrNotFound}
	}
	pauses := newPauses()
	for refused := 0; ; refused++ {
		if err := pause(ctx, refused, pauses); err != nil {
			return err
		}
		changed, set := q.changes(), x.settings.QueueSettingsChanged(name)
		holds, err := x.holds(ctx, domain.QueueIngest)
		if err != nil {
			return err
		}
		err = x.grab(ctx, q, processor, holds, write)
		switch {
		case errors.Is(err, errNone):
			if err := x.wait(ctx, changed, set); err != nil {
				return err
			}
			refused = -1
		case err == nil, ctx.Err() != nil, errors.Is(err, eventstore.ErrFenced), errors.Is(err, eventstore.ErrUnknown), errors.Is(err, eventstore.ErrFull):
			return err
		case errors.Is(err, eventstore.ErrBroken), errors.Is(err, eventstore.ErrLocked):
			x.log.Error("the first waiting batch of a user cannot be grabbed; the user is passed over for a while: run `accession verify` for details", "queue", name, "error", err)
		case !errors.Is(err, eventstore.ErrConflict):
			return err
		}
	}
}

// newPauses returns the pauses before a decision that other processes have refused is made
// again: random ones from 0 to 10 ms, which grow to 0 to 250 ms.
func newPauses() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{InitialInterval: 5 * time.Millisecond, RandomizationFactor: 1, Multiplier: 1.2, MaxInterval: 125 * time.Millisecond}
}

// pause waits before a decision that was refused more than once is made again.
func pause(ctx context.Context, refused int, pauses *backoff.ExponentialBackOff) error {
	if refused < 2 {
		pauses.Reset()
		return nil
	}
	select {
	case <-time.After(pauses.NextBackOff()):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wait returns when there may be something to grab.
func (x *Rings) wait(ctx context.Context, changed, settings <-chan struct{}) error {
	select {
	case <-changed:
	case <-settings:
	case <-time.After(pollEvery):
	case <-ctx.Done():
		return ctx.Err()
	case <-x.session.Context().Done():
		return eventstore.ErrFenced
	}
	return nil
}

// grab grabs the next batch once, errNone = there is none. ErrConflict: try again. One
// grab of a queue at a time is under way in a process.
func (x *Rings) grab(ctx context.Context, q *queue, processor string, holds eventstore.Holds, write func(eventstore.Leave) error) error {
	q.deciding.Lock()
	defer q.deciding.Unlock()
	read := x.settings.QueueSettings
	if q.times > 0 { // maybe because what is known of them is outdated
		read = x.settingsNow
	}
	settings, err := read(ctx, q.name)
	if err != nil {
		return err
	}
	p, there := settings.Processors[processor]
	if !there || p.Stopped {
		return errNone
	}
	if err := q.follow(ctx); err != nil {
		return err
	}
	d, n, token, err := q.decide(ctx, settings.Config, p.Criteria())
	if err != nil {
		return err
	}
	w, err := x.session.Worker(ctx)
	if err != nil {
		return err
	}
	id := q.aggregate(d.Deposit.ID)
	return q.write(write, eventstore.Leave{Queue: q.name, Processor: processor, Decision: d, Deposit: id, Ring: q.state, RingToken: q.token,
		Settings: settings.Version, Running: n, RunningToken: token, HoldsVersion: holds.Version,
		Claim: &eventstore.Claim{ID: uuid.NewString(), Attempts: 1, Worker: w.ID, Lost: w.Lost, Silent: x.session.Silent(), Aggregate: id}})
}

// Park implements eventstore.Rings.
func (x *Rings) Park(ctx context.Context, b eventstore.Deposit, write func(eventstore.Leave) error) error {
	refused := &eventstore.Error{Op: "park", Aggregate: b.Aggregate, Err: eventstore.ErrNotFound, Hint: "it does not wait in a deposit queue"}
	if !b.Waits() || x.queues[b.Ticket.Queue] == nil {
		return refused
	}
	q := x.queues[b.Ticket.Queue]
	pauses := newPauses()
	for again := 0; ; again++ {
		if err := pause(ctx, again, pauses); err != nil {
			return err
		}
		err := q.park(ctx, b, write)
		switch {
		case errors.Is(err, errNone):
			return refused
		case !errors.Is(err, eventstore.ErrConflict) || ctx.Err() != nil || errors.Is(err, eventstore.ErrUnknown):
			return err
		}
	}
}
