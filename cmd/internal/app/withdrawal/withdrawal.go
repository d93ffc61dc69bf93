// Package withdrawal has the use cases about objects whose content is to be gone: one user
// requests it, another one approves it, and the service removes the content from all stores.
// The inventory, with names, sizes and digests, and the history stay.
package withdrawal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/eventstore"
)

// Withdrawal is a request to withdraw an object, and what became of it.
type Withdrawal struct {
	ID          string     `json:"id"` // of the object
	Number      int64      `json:"number"`
	Collection  string     `json:"collection"`
	State       string     `json:"status"` // requested, approved, removed, rejected or taken_back
	Reason      string     `json:"reason"`
	RequestedBy string     `json:"requested_by"`
	RequestedAt time.Time  `json:"requested_at"`
	DecidedBy   string     `json:"decided_by,omitempty"`
	DecidedAt   *time.Time `json:"decided_at,omitempty"`
	Decision    string     `json:"decision,omitempty"`   // why it was decided so
	RemovedAt   *time.Time `json:"removed_at,omitempty"` // since then the content is gone
}

// Requested is the state of a withdrawal that waits for a second user.
const Requested = record.WithdrawalRequested

// States are the states of withdrawals.
var States = []string{Requested, record.WithdrawalApproved, record.WithdrawalRemoved, record.WithdrawalRejected, record.WithdrawalTakenBack}

func of(w record.Withdrawal) Withdrawal {
	return Withdrawal{ID: w.PrimaryIdentifier, Number: w.Number, Collection: w.Collection, State: w.State, Reason: w.Reason, RequestedBy: w.RequestedBy,
		RequestedAt: w.RequestedAt.UTC(), DecidedBy: w.DecidedBy, DecidedAt: utc(w.DecidedAt), Decision: w.Decision, RemovedAt: utc(w.RemovedAt)}
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	at := t.UTC()
	return &at
}

// person returns who acts. Withdrawals are decided by people, who are told apart by their
// names: a key is its user.
func person(a *app.App) (string, error) {
	if name := a.Actor.User(); name != "" {
		return name, nil
	}
	return "", &app.Error{Kind: app.Forbidden, Err: fmt.Errorf("%q is no user", a.Actor), Hint: "withdrawals are requested and decided by users"}
}

func changed(a *app.App, object, from, to string, effects ...string) app.Changed {
	return app.Changed{Target: target.Target{ID: object, Subject: "object/" + object}, From: from, State: to, DryRun: a.DryRun, Effects: effects}
}

func refused(hint, format string, args ...any) error {
	return &app.Error{Kind: app.Refused, Err: fmt.Errorf(format, args...), Hint: hint}
}

// Request requests that an object is withdrawn. A reason is required.
func Request(ctx context.Context, a *app.App, object, why string) (c app.Changed, err error) {
	defer app.Explained(&err, "withdraw object "+object)
	by, err := person(a)
	if err != nil {
		return c, err
	}
	if why = strings.TrimSpace(why); why == "" {
		return c, &app.Error{Kind: app.Invalid, Err: errors.New("a withdrawal needs a reason"), Hint: "give one: it stays with the tombstone, for those who may see the object"}
	}
	records, o, err := known(ctx, a, object)
	if err != nil {
		return c, err
	}
	w, there, err := records.Withdrawal(ctx, object)
	if err == nil && !there {
		if a.DryRun {
			w.State = record.WithdrawalRequested
		} else if w, there, err = records.RequestWithdrawal(ctx, object, o.Collection, by, why); err == nil {
			there = !there
		}
	}
	switch {
	case err != nil:
		return c, err
	case there && w.State == record.WithdrawalRequested && (w.RequestedBy != by || w.Reason != why):
		return c, refused("another user approves or rejects it: `accession object approve "+object+"`", "%s has requested it already, at %s: %s", w.RequestedBy, w.RequestedAt.UTC().Format(time.RFC3339), w.Reason)
	case there && w.State != record.WithdrawalRequested:
		return c, refused("`accession object show "+object+"` shows the tombstone", "it is withdrawn, since %s", w.DecidedAt.UTC().Format(time.RFC3339))
	}
	return changed(a, object, "", w.State, "another user approves or rejects it; until then nothing changes",
		fmt.Sprintf("once approved, the content of its %d versions is removed from all stores, for ever; names, sizes, digests and the history stay", o.CurrentVersion)), nil
}

// known returns an object, which must be there.
func known(ctx context.Context, a *app.App, object string) (*record.Records, record.FoundObject, error) {
	records, err := a.Open.Records(ctx)
	if err != nil {
		return nil, record.FoundObject{}, err
	}
	o, found, err := records.Object(ctx, object)
	if err == nil && !found {
		err = &app.Error{Kind: app.NotFound, Err: fmt.Errorf("there is no object %s", object), Hint: "`accession object ls` finds objects"}
	}
	return records, o, err
}

// Approve approves a request: from then on nothing of the object is served, and the service
// removes its content. It is refused to who requested it, and while a job may still store a
// version of the object.
func Approve(ctx context.Context, a *app.App, object, why string) (c app.Changed, err error) {
	return decide(ctx, a, object, why, approval)
}

// Reject ends a request: who requested it takes it back, others reject it.
func Reject(ctx context.Context, a *app.App, object, why string) (c app.Changed, err error) {
	return decide(ctx, a, object, why, rejection)
}

// decision is what a user decides of a request. It returns the state that it gets, "" = it has
// it already by the same decision.
type decision func(ctx context.Context, a *app.App, by string, w record.Withdrawal, writing []domain.JobID) (state string, effects []string, err error)

func approval(ctx context.Context, a *app.App, by string, w record.Withdrawal, writing []domain.JobID) (string, []string, error) {
	effects := []string{"nothing of it is served any more", "the service removes its content from all stores, for ever; names, sizes, digests and the history stay"}
	switch {
	case w.State != record.WithdrawalRequested && w.DecidedBy == by:
		return "", []string{"it was approved before"}, nil
	case w.State != record.WithdrawalRequested:
		return "", nil, refused("", "%s has approved it already", w.DecidedBy)
	case w.RequestedBy == by:
		return "", nil, refused("a second user with the role operator or admin approves it", "you have requested it yourself")
	}
	live, err := a.Open.Handler(ctx)
	if err != nil {
		return "", nil, err
	}
	for _, id := range writing {
		j, err := live.Live.Job(ctx, id)
		if errors.Is(err, eventstore.ErrNotFound) {
			continue
		}
		if err != nil {
			return "", nil, err
		}
		if state := j.State.State; state != domain.JobFailed && state != domain.JobCompleted && state != domain.JobDeleted {
			return "", nil, refused("approve it when the job has ended: `accession job show "+string(id)+"`", "%s is storing a version of it", id)
		}
	}
	return record.WithdrawalApproved, effects, nil
}

func rejection(_ context.Context, _ *app.App, by string, w record.Withdrawal, _ []domain.JobID) (string, []string, error) {
	switch {
	case w.State != record.WithdrawalRequested:
		return "", nil, refused("what was approved cannot be undone", "%s has approved it", w.DecidedBy)
	case w.RequestedBy == by:
		return record.WithdrawalTakenBack, []string{"you take your request back; nothing was changed"}, nil
	}
	return record.WithdrawalRejected, []string{"the request of " + w.RequestedBy + " is rejected; nothing was changed"}, nil
}

// errTried ends a transaction that is only tried.
var errTried = errors.New("it was only tried")

func decide(ctx context.Context, a *app.App, object, why string, of decision) (c app.Changed, err error) {
	defer app.Explained(&err, "decide the withdrawal of "+object)
	by, err := person(a)
	if err != nil {
		return c, err
	}
	records, err := a.Open.Records(ctx)
	if err != nil {
		return c, err
	}
	w, err := records.DecideWithdrawal(ctx, object, by, strings.TrimSpace(why), func(w record.Withdrawal, writing []domain.JobID) (string, error) {
		state, effects, err := of(ctx, a, by, w, writing)
		if err != nil {
			return "", err
		}
		c = changed(a, object, w.State, cmp.Or(state, w.State), effects...)
		if a.DryRun {
			return "", errTried
		}
		return state, nil
	})
	known, isRecord := errors.AsType[*record.Error](err)
	switch {
	case errors.Is(err, errTried):
		return c, nil
	case isRecord && known.Code == record.CodeNotFound:
		return app.Changed{}, refused("`accession object withdrawals` lists requests", "%s", known.Message)
	case err != nil:
		return app.Changed{}, err
	}
	c.State = w.State
	return c, nil
}

const (
	kind         = "withdrawal"
	defaultLimit = 50
)

// List lists withdrawals, newest first: those in the collections where the caller acts, nil = all.
func List(ctx context.Context, a *app.App, acts *access.Filter, state string, limit int, from app.Cursor) (p app.Page[Withdrawal], err error) {
	defer app.Explained(&err, "list withdrawals")
	after, err := app.After(from, kind, numbered)
	if err != nil {
		return p, err
	}
	records, err := a.Open.Records(ctx)
	if err != nil {
		return p, err
	}
	if limit < 1 {
		limit = defaultLimit
	}
	f := record.WithdrawalFilter{State: state, Limit: limit + 1}
	if n, err := strconv.ParseInt(after, 10, 64); err == nil {
		f.Before = &n
	}
	if acts != nil && !acts.All {
		f.Limited, f.Collections = true, acts.Collections
	}
	rows, err := records.Withdrawals(ctx, f)
	if err != nil {
		return p, err
	}
	all := make([]Withdrawal, len(rows))
	for i, row := range rows {
		all[i] = of(row)
	}
	return app.PageOf(limit, all, kind, func(w Withdrawal) string { return strconv.FormatInt(w.Number, 10) }), nil
}

// numbered refuses what is no number.
func numbered(text string) (string, error) {
	_, err := strconv.ParseInt(text, 10, 64)
	return text, err
}
