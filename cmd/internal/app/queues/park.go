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
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/projections/query"
)

// Choice chooses batches of the deposit queue: those of the users, those that are named, or
// with both those of the users that are named.
type Choice struct {
	Users   []string
	Batches []domain.BatchID
	// Since and Until bound when a batch was received: not before, and before. Zero = any.
	Since, Until time.Time
}

// check refuses a choice of everything.
func (c Choice) check() error {
	if len(c.Users) == 0 && len(c.Batches) == 0 {
		return &app.Error{Kind: app.Invalid, What: "choose batches", Err: errors.New("no users and no batches are named"), Hint: "name the users, or batches with --batch"}
	}
	return nil
}

// has reports whether a batch is chosen.
func (c Choice) has(b domain.Batch) bool {
	at := b.Submission.Received.Time
	if at.IsZero() {
		at = b.Modified.Time // of an older program: when it last moved
	}
	return (len(c.Users) == 0 || slices.Contains(c.Users, b.Submission.Submitter)) && (len(c.Batches) == 0 || slices.Contains(c.Batches, b.ID)) &&
		(c.Since.IsZero() || !at.Before(c.Since)) && (c.Until.IsZero() || at.Before(c.Until))
}

// Moved says what became of the batches of a choice. It counts what this call did, also
// when it was cut off.
type Moved struct {
	Verb   string         `json:"verb"`
	Looked int            `json:"looked_at"` // batches that might have been chosen
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

// mover parks or unparks batches.
type mover struct {
	*Moved
	a       *app.App
	handler *eventstore.Handler
	choice  Choice
	why     string
	one     func(ctx context.Context, id domain.BatchID, why domain.Reason) error
	fits    func(domain.Batch) bool
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
	return &mover{Moved: &Moved{Verb: verb, DryRun: a.DryRun, Users: map[string]int{}}, a: a, handler: handler, choice: c, why: strings.TrimSpace(why), seen: seen}, nil
}

// Park takes waiting batches out of the deposit queue until they are unparked. After an
// interruption another call parks the rest.
func Park(ctx context.Context, a *app.App, c Choice, why string, seen Seen) (m Moved, err error) {
	defer app.Explained(&err, "park deposits")
	p, err := newMover(ctx, a, "park", c, why, seen)
	if err != nil {
		return m, err
	}
	p.fits = domain.Batch.Waits
	p.one = func(ctx context.Context, id domain.BatchID, why domain.Reason) error {
		_, err := p.handler.Park(ctx, id, why, a.Meta())
		return err
	}
	for _, user := range c.Users {
		if err := p.parkUser(ctx, user); err != nil {
			return *p.Moved, err
		}
	}
	if len(c.Users) == 0 {
		err = p.all(ctx, c.Batches, len(c.Batches))
	}
	return *p.Moved, err
}

func (p *mover) parkUser(ctx context.Context, user string) error {
	if p.handler.Rings == nil {
		return nil
	}
	ids, err := p.handler.Rings.Waiting(ctx, fair.QueueMetadata, user)
	if err != nil {
		return err
	}
	return p.all(ctx, ids, p.Looked+len(ids))
}

// unparkPage is how many parked batches are listed at once.
const unparkPage = 1000

// Unpark lets parked batches wait again, at the front of their users, in the order that they
// had. After an interruption another call unparks the rest.
func Unpark(ctx context.Context, a *app.App, c Choice, why string, seen Seen) (m Moved, err error) {
	defer app.Explained(&err, "unpark deposits")
	p, err := newMover(ctx, a, "unpark", c, why, seen)
	if err != nil {
		return m, err
	}
	p.fits = domain.Batch.Parked
	p.one = func(ctx context.Context, id domain.BatchID, why domain.Reason) error {
		_, err := p.handler.Batch(ctx, id, domain.UnparkBatch{Reason: why}, a.Meta())
		return err
	}
	if err := a.CatchUp(ctx); err != nil { // what was parked a moment ago
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
	of := query.ParkedOf{Users: c.Users, Limit: unparkPage}
	if len(c.Users) == 0 {
		of.Batches = c.Batches
	}
	for {
		ids, err := query.ParkedBatches(ctx, db, of)
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
		return len(c.Batches), nil
	}
	all, err := query.Parked(ctx, db)
	for _, user := range c.Users {
		n += int(all[user])
	}
	return n, err
}

// all moves those of some batches that are chosen, one after the other: each writes the ring.
func (p *mover) all(ctx context.Context, ids []domain.BatchID, of int) error {
	for _, id := range ids {
		if err := p.each(ctx, id); err != nil {
			return fmt.Errorf("%d deposits are %sed, run the command again for the others: %w", p.Done, p.Verb, err)
		}
		p.Looked++
		p.seen(p.Looked, of)
	}
	return nil
}

// left are the refusals of a batch that has moved on meanwhile.
var left = []domain.Code{domain.CodeNotWaiting, domain.CodeNotParked, domain.CodeIllegal}

// each moves one batch if it is chosen.
func (p *mover) each(ctx context.Context, id domain.BatchID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	is, err := p.handler.Live.Batch(ctx, id)
	switch {
	case errors.Is(err, eventstore.ErrNotFound):
		p.Missed++
		return nil
	case err != nil:
		return err
	case !p.choice.has(is.State):
		return nil
	case !p.fits(is.State):
		p.Missed++
		return nil
	}
	if !p.DryRun {
		why := domain.Reason{Class: domain.ClassWait, Code: domain.CodeParked, Message: p.why}
		err = crash.Around("app/park/one", func() error { return p.one(ctx, id, why) })
	}
	var refused *domain.Refused
	switch {
	case err == nil:
		p.Done++
		p.Users[is.State.Submission.Submitter]++
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
