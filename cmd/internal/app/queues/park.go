package queues

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/projections/query"
)

// Choice chooses deposits of a deposit queue: those of the users, those that are named, or
// with both those of the users that are named.
type Choice struct {
	Queue string
	Users []string
	IDs   []string // of batches or queries
	// Since and Until bound when a deposit was received: not before, and before. Zero = any.
	Since, Until time.Time
}

// check refuses a choice of everything.
func (c Choice) check() error {
	if len(c.Users) > 0 || len(c.IDs) > 0 {
		return nil
	}
	e := &app.Error{Kind: app.Invalid, What: "choose deposits", Err: errors.New("no users and no batches are named"), Hint: "name the users, or batches with --batch"}
	if c.Queue == fair.QueueQuery {
		e.Err, e.Hint = errors.New("no users and no queries are named"), "name queries, or users with --user"
	}
	return e
}

// has reports whether a deposit is chosen.
func (c Choice) has(id string, d deposit) bool {
	return (len(c.Users) == 0 || slices.Contains(c.Users, d.user)) && (len(c.IDs) == 0 || slices.Contains(c.IDs, id)) &&
		(c.Since.IsZero() || !d.received.Before(c.Since)) && (c.Until.IsZero() || d.received.Before(c.Until))
}

// deposit is what parking looks at of a batch or query.
type deposit struct {
	user          string
	received      time.Time // of an older program: when it last moved
	waits, parked bool
}

// kind is what parking does with the deposits of a queue.
type kind struct {
	load         func(ctx context.Context, h *eventstore.Handler, id string) (deposit, error)
	park, unpark func(ctx context.Context, h *eventstore.Handler, id string, why domain.Reason, m eventstore.Meta) error
}

var kinds = map[string]kind{
	fair.QueueMetadata: {
		func(ctx context.Context, h *eventstore.Handler, id string) (deposit, error) {
			at, err := h.Live.Batch(ctx, domain.BatchID(id))
			b := at.State
			return deposit{b.Submission.Submitter, received(b.Submission.Received, b.Modified), b.Waits(), b.Parked()}, err
		},
		func(ctx context.Context, h *eventstore.Handler, id string, why domain.Reason, m eventstore.Meta) error {
			_, err := h.Park(ctx, domain.BatchID(id), why, m)
			return err
		},
		func(ctx context.Context, h *eventstore.Handler, id string, why domain.Reason, m eventstore.Meta) error {
			_, err := h.Batch(ctx, domain.BatchID(id), domain.UnparkBatch{Reason: why}, m)
			return err
		},
	},
	fair.QueueQuery: {
		func(ctx context.Context, h *eventstore.Handler, id string) (deposit, error) {
			at, err := h.Queries.LoadQuery(ctx, domain.QueryID(id))
			q := at.State
			return deposit{q.Request.Submitter, received(q.Received, q.Modified), q.State == asked.Received, q.State == asked.Parked}, err
		},
		func(ctx context.Context, h *eventstore.Handler, id string, why domain.Reason, m eventstore.Meta) error {
			_, err := h.ParkQuery(ctx, domain.QueryID(id), why, m)
			return err
		},
		func(ctx context.Context, h *eventstore.Handler, id string, why domain.Reason, m eventstore.Meta) error {
			_, err := h.UnparkQuery(ctx, domain.QueryID(id), &why, m)
			return err
		},
	},
}

func received(at, moved domain.Time) time.Time {
	if at.IsZero() {
		return moved.Time
	}
	return at.Time
}

// Moved says what became of the deposits of a choice. It counts what this call did, also
// when it was cut off.
type Moved struct {
	Verb   string         `json:"verb"`
	Looked int            `json:"looked_at"` // deposits that might have been chosen
	Done   int            `json:"done"`      // parked or unparked, or with DryRun: would be
	Users  map[string]int `json:"users"`     // the same, by user
	// Missed are those that were chosen and had left meanwhile: grabbed, parked, released.
	Missed int `json:"missed"`
	// Refused counts those that the rules did not let go; Why is the first of the refusals.
	Refused int    `json:"refused,omitempty"`
	Why     string `json:"why_refused,omitempty"`
	DryRun  bool   `json:"dry_run,omitempty"`
}

// Seen is called with how many batches were looked at, of how many as far as known.
type Seen func(looked, of int)

// mover parks or unparks deposits.
type mover struct {
	*Moved
	kind
	a       *app.App
	handler *eventstore.Handler
	choice  Choice
	why     string
	one     func(ctx context.Context, h *eventstore.Handler, id string, why domain.Reason, m eventstore.Meta) error
	fits    func(deposit) bool
	seen    Seen
}

func newMover(ctx context.Context, a *app.App, verb string, c Choice, why string, seen Seen) (*mover, error) {
	if err := errors.Join(reasoned(why), c.check()); err != nil {
		return nil, err
	}
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return nil, err
	}
	if seen == nil {
		seen = func(int, int) {}
	}
	return &mover{Moved: &Moved{Verb: verb, DryRun: a.DryRun, Users: map[string]int{}}, kind: kinds[c.Queue], a: a, handler: handler, choice: c, why: strings.TrimSpace(why), seen: seen}, nil
}

// Park takes waiting deposits out of a deposit queue until they are unparked. After an
// interruption another call parks the rest.
func Park(ctx context.Context, a *app.App, c Choice, why string, seen Seen) (m Moved, err error) {
	defer app.Explained(&err, "park deposits")
	p, err := newMover(ctx, a, "park", c, why, seen)
	if err != nil {
		return m, err
	}
	p.one, p.fits = p.park, func(d deposit) bool { return d.waits }
	for _, user := range c.Users {
		if err := p.parkUser(ctx, user); err != nil {
			return *p.Moved, err
		}
	}
	if len(c.Users) == 0 {
		err = p.all(ctx, c.IDs, len(c.IDs))
	}
	return *p.Moved, err
}

func (p *mover) parkUser(ctx context.Context, user string) error {
	if p.handler.Rings == nil {
		return nil
	}
	ids, err := p.handler.Rings.Waiting(ctx, p.choice.Queue, user)
	if err != nil {
		return err
	}
	return p.all(ctx, ids, p.Looked+len(ids))
}

// late is how long Unpark waits for the tables.
const late = time.Minute

// caughtUp is app.App.CatchUp, not for ever.
func caughtUp(ctx context.Context, a *app.App) error {
	waiting, cancel := context.WithTimeout(ctx, late)
	defer cancel()
	err := a.CatchUp(waiting)
	if waiting.Err() != nil && ctx.Err() == nil {
		err = &app.Error{Kind: app.Unavailable, Err: errors.New("the tables are late, and do not show yet what is parked"), Hint: "nothing was unparked: `accession status` shows how far they are behind; then run it again"}
	}
	return err
}

// unparkPage is how many parked deposits are listed at once.
const unparkPage = 1000

// Unpark lets parked deposits wait again, at the front of their users, in the order that they
// had. After an interruption another call unparks the rest.
func Unpark(ctx context.Context, a *app.App, c Choice, why string, seen Seen) (m Moved, err error) {
	defer app.Explained(&err, "unpark deposits")
	p, err := newMover(ctx, a, "unpark", c, why, seen)
	if err != nil {
		return m, err
	}
	p.one, p.fits = p.unpark, func(d deposit) bool { return d.parked }
	if err := caughtUp(ctx, a); err != nil { // what was parked a moment ago
		return *p.Moved, err
	}
	db, err := a.Open.DB(ctx)
	if err != nil {
		return *p.Moved, err
	}
	total, err := parkedNow(ctx, db, c)
	if err != nil {
		return *p.Moved, err
	}
	of := query.ParkedOf{Queue: c.Queue, Users: c.Users, Limit: unparkPage}
	if len(c.Users) == 0 {
		of.IDs = c.IDs
	}
	for {
		ids, err := query.ParkedDeposits(ctx, db, of)
		if err != nil || len(ids) == 0 {
			return *p.Moved, err
		}
		if err := p.all(ctx, ids, total); err != nil {
			return *p.Moved, err
		}
		of.After = ids[len(ids)-1]
	}
}

// parkedNow counts what a choice may be of.
func parkedNow(ctx context.Context, db query.DB, c Choice) (n int, err error) {
	if len(c.Users) == 0 {
		return len(c.IDs), nil
	}
	all, err := query.Parked(ctx, db, c.Queue)
	for _, user := range c.Users {
		n += int(all[user])
	}
	return n, err
}

// all moves those of some deposits that are chosen, one after the other: each writes the ring.
func (p *mover) all(ctx context.Context, ids []string, of int) error {
	for _, id := range ids {
		if err := p.each(ctx, id); err != nil {
			return fmt.Errorf("%d deposits are %sed, run the command again for the others: %w", p.Done, p.Verb, err)
		}
		p.Looked++
		p.seen(p.Looked, of)
	}
	return nil
}

// left are the refusals of a deposit that has moved on meanwhile.
var left = []domain.Code{domain.CodeNotWaiting, domain.CodeNotParked, domain.CodeIllegal}

// each moves one deposit if it is chosen.
func (p *mover) each(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	is, err := p.load(ctx, p.handler, id)
	switch {
	case errors.Is(err, eventstore.ErrNotFound):
		p.Missed++
		return nil
	case err != nil:
		return err
	case !p.choice.has(id, is):
		return nil
	case !p.fits(is):
		p.Missed++
		return nil
	}
	if !p.DryRun {
		why := domain.Reason{Class: domain.ClassWait, Code: domain.CodeParked, Message: p.why}
		err = crash.Around("app/park/one", func() error { return p.one(ctx, p.handler, id, why, p.a.Meta()) })
	}
	var refused *domain.Refused
	switch {
	case err == nil:
		p.Done++
		p.Users[is.user]++
	case errors.As(err, &refused) && slices.Contains(left, refused.Code), errors.Is(err, eventstore.ErrNotFound):
		p.Missed++
		err = nil
	case errors.As(err, &refused):
		if p.Refused++; p.Why == "" {
			p.Why = err.Error()
		}
		err = nil
	}
	return err
}
