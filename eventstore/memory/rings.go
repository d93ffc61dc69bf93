package memory

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
)

var _ eventstore.Rings = (*Store)(nil)

// Ticket implements eventstore.Rings.
func (s *Store) Ticket(ctx context.Context, queue, user string) (*domain.Ticket, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	return &domain.Ticket{Queue: queue, User: user, Slot: s.server.slot(queue, user)}, ctx.Err()
}

// ringOf returns the state of a deposit queue. The mutex is held.
func (srv *Server) ringOf(queue string) *eventstore.RingState {
	if srv.rings[queue] == nil {
		srv.rings[queue] = &eventstore.RingState{NextSlot: 1}
	}
	return srv.rings[queue]
}

// slot returns the slot that a batch of a user has, or the next one.
func (srv *Server) slot(queue, user string) int64 {
	for _, d := range srv.deposits(queue) {
		if d.Waits() && d.Ticket.User == user {
			return d.Ticket.Slot
		}
	}
	return srv.ringOf(queue).NextSlot
}

// deposits returns what waits or runs in a deposit queue, in the order of their ids. The
// mutex is held.
func (srv *Server) deposits(queue string) (all []eventstore.Deposit) {
	add := func(d eventstore.Deposit) {
		if d.Ticket != nil && d.Ticket.Queue == queue {
			all = append(all, d)
		}
	}
	for _, r := range srv.batches {
		add(eventstore.DepositOfBatch(r.state))
	}
	for _, r := range srv.asked {
		add(eventstore.DepositOfQuery(r.state))
	}
	slices.SortFunc(all, func(a, b eventstore.Deposit) int { return cmp.Compare(a.Aggregate.ID, b.Aggregate.ID) })
	return all
}

// ring returns a deposit queue as the deposits are.
func (srv *Server) ring(queue string) *fair.Ring {
	all := srv.deposits(queue)
	ring := &fair.Ring{}
	for _, d := range all {
		if d.Runs() && !d.Ticket.Synchronous {
			ring.Start(d.Ticket.User, d.Aggregate.ID)
		}
	}
	waiting := slices.DeleteFunc(all, eventstore.Deposit.Runs)
	for _, d := range waiting {
		ring.Join(d.Ticket.User, d.Ticket.Slot)
	}
	for _, d := range waiting {
		ring.Put(d.Ticket.User, d.Entry())
	}
	for _, d := range waiting {
		ring.Read(d.Ticket.User, nil) // all are there
	}
	at := srv.ringOf(queue)
	ring.Seek(fair.Position(at.RingPosition), at.NextSlot-1)
	return ring
}

// View implements eventstore.Rings.
func (s *Store) View(ctx context.Context, queue string) (v eventstore.RingView, err error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	v.State = *s.server.ringOf(queue)
	all := map[string]*eventstore.RingUser{}
	for _, d := range s.server.deposits(queue) {
		if d.Ticket.Pooled() {
			v.Synchronous = append(v.Synchronous, domain.BatchID(d.Aggregate.ID))
			continue
		}
		u := all[d.Ticket.User]
		if u == nil {
			u = &eventstore.RingUser{User: d.Ticket.User}
			all[u.User] = u
		}
		if d.Waits() {
			u.Slot = d.Ticket.Slot
			u.Waiting = append(u.Waiting, d.Entry())
		} else {
			u.Running = append(u.Running, d.Aggregate.ID)
		}
	}
	for _, user := range slices.Sorted(maps.Keys(all)) {
		v.Users = append(v.Users, *all[user])
	}
	slices.SortStableFunc(v.Users, func(a, b eventstore.RingUser) int { return cmp.Compare(uint64(a.Slot-1), uint64(b.Slot-1)) }) // none comes last
	return v, ctx.Err()
}

// Waiting implements eventstore.Rings.
func (s *Store) Waiting(ctx context.Context, queue, user string) (all []string, err error) {
	v, err := s.View(ctx, queue)
	for _, u := range v.Users {
		if u.User == user {
			for _, d := range u.Waiting {
				all = append(all, d.ID)
			}
		}
	}
	return all, err
}

// Grab implements eventstore.Rings.
func (s *Store) Grab(ctx context.Context, queue, processor string, write func(eventstore.Leave) error) error {
	for {
		var l eventstore.Leave
		err := s.server.wait(ctx, nil, func() bool {
			config, version, criteria, works := s.grabs(queue, processor)
			if !works || s.server.paused(domain.QueueIngest) {
				return false
			}
			d := s.server.ring(queue).Grab(config, criteria)
			if d.Rule == fair.RuleNone {
				return false
			}
			l = s.leave(queue, d)
			l.Processor, l.Settings, l.HoldsVersion = processor, version, s.server.holds.Version
			l.Claim = s.claim(l.Deposit)
			return true
		})
		if err == nil {
			err = write(l)
		}
		var refused *domain.Refused
		if !errors.Is(err, eventstore.ErrConflict) && !errors.As(err, &refused) || errors.Is(err, eventstore.ErrFenced) {
			return err
		}
	}
}

// Park implements eventstore.Rings.
func (s *Store) Park(ctx context.Context, b eventstore.Deposit, write func(eventstore.Leave) error) error {
	for b.Waits() {
		s.server.mu.Lock()
		d := s.server.ring(b.Ticket.Queue).Park(b.Ticket.User, b.Aggregate.ID)
		l := s.leave(b.Ticket.Queue, d)
		s.server.mu.Unlock()
		if d.Rule != fair.RuleParked {
			break
		}
		if err := write(l); !errors.Is(err, eventstore.ErrConflict) || ctx.Err() != nil {
			return err
		}
	}
	return failed("park", b.Aggregate, eventstore.ErrNotFound, "it does not wait in a deposit queue")
}

// grabs returns the settings of a processor, and whether it grabs at all. The mutex is held.
func (s *Store) grabs(queue, processor string) (fair.Config, eventstore.Token, fair.Processor, bool) {
	is := s.server.queueSettings(queue)
	p, there := is.Processors[processor]
	return is.Config, is.Version, p.Criteria(), there && !p.Stopped
}

// leave returns a decision with what its write proves. The mutex is held.
func (s *Store) leave(queue string, d fair.Decision) eventstore.Leave {
	ring := *s.server.ringOf(queue)
	return eventstore.Leave{Queue: queue, Decision: d, Deposit: depositOf(d.Deposit.ID), Ring: ring, RingToken: eventstore.Token(ring.Writes)}
}

// proveRing checks what a change says of a deposit queue. The mutex is held.
func (s *Store) proveRing(c eventstore.Change) error {
	from, to, ok := c.Deposits()
	if !ok || c.Observed != nil {
		return nil
	}
	srv := s.server
	if l := c.Leave; l != nil {
		_, version, _, _ := s.grabs(l.Queue, l.Processor)
		switch {
		case eventstore.Token(srv.ringOf(l.Queue).Writes) != l.RingToken:
			return eventstore.ErrConflict
		case !l.Grabbed():
			return nil
		case l.Claim.Worker != s.worker:
			return eventstore.ErrFenced
		case version != l.Settings, srv.holds.Version != l.HoldsVersion:
			return eventstore.ErrConflict
		case srv.locks[c.Aggregate()] != nil:
			return eventstore.ErrLocked
		}
		return nil
	}
	if p := c.Pool; p != nil {
		now := s.pool(p.Queue)
		if now.Running != p.Running || now.Settings != p.Settings {
			return eventstore.ErrConflict
		}
	}
	if !from.Waits() && to.Waits() && srv.slot(to.Ticket.Queue, to.Ticket.User) != to.Ticket.Slot {
		return eventstore.ErrConflict
	}
	return nil
}

// writeRing moves the ring of a deposit queue with a change. The mutex is held.
func (srv *Server) writeRing(c eventstore.Change) {
	from, to, ok := c.Deposits()
	if !ok || c.Observed != nil {
		return
	}
	switch l := c.Leave; {
	case l != nil:
		*srv.ringOf(l.Queue) = srv.ringOf(l.Queue).After(l.Step())
		if l.Grabbed() {
			srv.locks[c.Aggregate()] = l.Claim
		}
	case !from.Waits() && to.Waits():
		ring := srv.ringOf(to.Ticket.Queue)
		*ring = ring.After(eventstore.RingStep{Rule: eventstore.StepJoined, User: to.Ticket.User, Slot: to.Ticket.Slot, Deposit: to.Aggregate.ID, RingPosition: ring.RingPosition})
	}
}

// Pool implements eventstore.Rings.
func (s *Store) Pool(ctx context.Context, queue string) (*eventstore.Pool, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	p := s.pool(queue)
	return &p, ctx.Err()
}

// pool counts the synchronous deposits that run. The mutex is held.
func (s *Store) pool(queue string) eventstore.Pool {
	is := s.server.queueSettings(queue)
	p := eventstore.Pool{Pool: fair.Pool{Queue: queue, Config: is.Config}, Settings: is.Version}
	for _, d := range s.server.deposits(queue) {
		if d.Ticket.Pooled() {
			p.Running++
		}
	}
	return p
}

// depositOf returns the deposit that an id names.
func depositOf(id string) domain.Aggregate {
	if domain.QueryID(id).Number() > 0 {
		return domain.QueryID(id).Aggregate()
	}
	return domain.BatchID(id).Aggregate()
}

// RunningIn implements eventstore.Rings.
func (s *Store) RunningIn(ctx context.Context, queue string) (ids []string, err error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	for _, d := range s.server.deposits(queue) {
		if d.Runs() {
			ids = append(ids, d.Aggregate.ID)
		}
	}
	return ids, ctx.Err()
}
