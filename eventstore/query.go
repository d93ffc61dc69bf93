package eventstore

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/lookup"
)

// Queries are the queries of the live state. They change by [Live.Commit], and are grabbed
// by [Rings].
type Queries interface {
	// LoadQuery reads a query.
	LoadQuery(ctx context.Context, id domain.QueryID) (Loaded[lookup.Query], error)
	// QueryIDs lists the ids of all queries, sorted.
	QueryIDs(ctx context.Context) ([]domain.QueryID, error)
	// ReserveQueryID returns an id that no other caller gets, also when it is never used.
	ReserveQueryID(ctx context.Context) (domain.QueryID, error)
	// ClaimQuery claims a query whose worker has died. ErrLocked: another worker holds it;
	// ErrConflict: it does not run.
	ClaimQuery(ctx context.Context, id domain.QueryID) (*Claim, Loaded[lookup.Query], error)
	// RemoveQuery deletes the nodes of a query that has ended. After an interruption it can
	// be called again.
	RemoveQuery(ctx context.Context, id domain.QueryID) error
}

var queryKind = kind[lookup.Query]{lookup.Evolve, func(c *Change, t *Transition[lookup.Query]) { c.Query = t }}

// ReceiveQuery makes a query, which waits for its turn in the queue of queries; it gets its
// ticket there.
func (h *Handler) ReceiveQuery(ctx context.Context, id domain.QueryID, c lookup.Receive, m Meta) (Result[lookup.Query], error) {
	return h.queryWithTicket(ctx, id, c.Request.Submitter, func(t domain.Ticket) lookup.Command {
		c.Ticket = t
		return c
	}, m)
}

// queryWithTicket decides and commits a command by which a query joins its queue.
func (h *Handler) queryWithTicket(ctx context.Context, id domain.QueryID, user string, cmd func(domain.Ticket) lookup.Command, m Meta) (Result[lookup.Query], error) {
	h.ensureCommandID(&m)
	return retry(ctx, "decide", id.Aggregate(), func() (Result[lookup.Query], error) {
		ticket, err := h.Rings.Ticket(ctx, fair.QueueQuery, user)
		if err != nil {
			return Result[lookup.Query]{}, err
		}
		if ticket == nil {
			return Result[lookup.Query]{}, &domain.Refused{Aggregate: id.Aggregate(), Code: domain.CodeNotWaiting,
				Message: "the live state is of a format without a queue for queries; raise the format, or use accession query answer"}
		}
		return h.query(ctx, id, cmd(*ticket), Change{}, m)
	})
}

// Query decides and commits a command about a query that is there.
func (h *Handler) Query(ctx context.Context, id domain.QueryID, cmd lookup.Command, m Meta) (Result[lookup.Query], error) {
	h.ensureCommandID(&m)
	return retry(ctx, "decide", id.Aggregate(), func() (Result[lookup.Query], error) { return h.query(ctx, id, cmd, Change{}, m) })
}

// query decides and commits once.
func (h *Handler) query(ctx context.Context, id domain.QueryID, cmd lookup.Command, c Change, m Meta) (Result[lookup.Query], error) {
	from, err := h.Queries.LoadQuery(ctx, id)
	if errors.Is(err, ErrNotFound) {
		from, err = Loaded[lookup.Query]{State: lookup.Query{ID: id}}, nil
	}
	if err != nil {
		return Result[lookup.Query]{}, err
	}
	if from.State.CommandID == m.CommandID {
		return Result[lookup.Query]{Loaded: from}, nil
	}
	if err := m.Outdated(from.State.Version); err != nil {
		return Result[lookup.Query]{}, err
	}
	dec, err := lookup.Decide(from.State, cmd)
	if err != nil {
		return Result[lookup.Query]{}, err
	}
	return queryKind.commit(ctx, h, decided[lookup.Query]{from: from, Decision: dec, change: c}, m)
}

// ParkQuery takes a waiting query out of its deposit queue until it is unparked.
func (h *Handler) ParkQuery(ctx context.Context, id domain.QueryID, why domain.Reason, m Meta) (res Result[lookup.Query], err error) {
	from, err := h.Queries.LoadQuery(ctx, id)
	if err != nil {
		return res, err
	}
	if !DepositOfQuery(from.State).Waits() {
		_, err = lookup.Decide(from.State, lookup.Park{Reason: why})
		return res, err
	}
	err = h.Rings.Park(ctx, DepositOfQuery(from.State), func(l Leave) error {
		h.ensureCommandID(&m)
		res, err = h.query(ctx, id, lookup.Park{Reason: why, Ring: l.Position()}, Change{Leave: &l}, m)
		return err
	})
	return res, err
}

// FailQuery ends a query that waits, is parked or runs. A worker that answers it is refused
// when it writes.
func (h *Handler) FailQuery(ctx context.Context, id domain.QueryID, why domain.Reason, m Meta) (res Result[lookup.Query], err error) {
	h.ensureCommandID(&m)
	for range 3 { // it may leave its queue, or come back, meanwhile
		from, err := h.Queries.LoadQuery(ctx, id)
		if err != nil {
			return res, err
		}
		if d := DepositOfQuery(from.State); d.Waits() {
			err = h.Rings.Park(ctx, d, func(l Leave) error {
				at := l.Position()
				res, err = h.query(ctx, id, lookup.Fail{Reason: why, Ring: &at}, Change{Leave: &l}, m)
				return err
			})
		} else {
			res, err = h.Query(ctx, id, lookup.Fail{Reason: why}, m)
		}
		var refused *domain.Refused
		if !errors.Is(err, ErrNotFound) && (!errors.As(err, &refused) || refused.Code != domain.CodeNotWaiting) {
			return res, err
		}
	}
	return res, &Error{Op: "fail", Aggregate: id.Aggregate(), Err: ErrConflict}
}

// UnparkQuery lets a parked query wait again, where its id puts it.
func (h *Handler) UnparkQuery(ctx context.Context, id domain.QueryID, why *domain.Reason, m Meta) (Result[lookup.Query], error) {
	from, err := h.Queries.LoadQuery(ctx, id)
	if err != nil {
		return Result[lookup.Query]{}, err
	}
	return h.queryWithTicket(ctx, id, from.State.Request.Submitter, func(t domain.Ticket) lookup.Command { return lookup.Unpark{Reason: why, Ticket: t} }, m)
}

// GrabQuery waits until a processor may grab a query, and grabs it as Grab does a batch.
func (h *Handler) GrabQuery(ctx context.Context, processor string, m Meta) (res Result[lookup.Query], err error) {
	err = h.Rings.Grab(ctx, fair.QueueQuery, processor, func(l Leave) error {
		h.ensureCommandID(&m)
		at := domain.Ticket{Queue: fair.QueueQuery, User: l.Decision.User, Slot: l.Decision.Slot, Turn: l.Decision.After.Turn}
		res, err = h.query(ctx, domain.QueryID(l.Deposit.ID), lookup.Grab{Ticket: at, Ring: l.Position(), Rule: string(l.Decision.Rule), Processor: processor}, Change{Leave: &l}, m)
		return err
	})
	return res, err
}
