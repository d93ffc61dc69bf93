package record

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
)

// Rows of bulk actions; the comments of their columns are in the database.
type (
	// BulkAction is a command about all that a filter selects.
	BulkAction = pgdb.RecordBulkAction
	// BulkItem is one thing that a bulk action has taken.
	BulkItem = pgdb.RecordBulkItem
)

// The outcomes of an item of a bulk action.
const (
	ItemBegun   = "begun"
	ItemDone    = "done"
	ItemRefused = "refused"
)

// AddBulkAction keeps a bulk action, which the service then carries out. If one was kept
// under the same request it stays, and is returned.
func (r *Records) AddBulkAction(ctx context.Context, a BulkAction) (BulkAction, error) {
	kept, err := change("bulk/add", func() (kept BulkAction, err error) {
		added, err := r.q.AddBulkAction(ctx, pgdb.AddBulkActionParams{ID: a.ID, RequestSha256: a.RequestSha256, InputSha256: a.InputSha256, Actor: a.Actor,
			Kind: a.Kind, Verb: a.Verb, Filter: a.Filter, UserName: a.UserName, Sees: a.Sees, Priority: a.Priority, ClosesAt: a.ClosesAt, Reason: a.Reason, Matched: a.Matched})
		switch {
		case err != nil:
			return kept, err
		case added == 0:
			return r.q.BulkActionByRequest(ctx, a.RequestSha256)
		}
		return r.q.BulkAction(ctx, a.ID)
	})
	return kept, wrap(err, "keep the bulk action", a.ID)
}

// BulkAction returns a bulk action; found = false if there is none.
func (r *Records) BulkAction(ctx context.Context, id string) (a BulkAction, found bool, err error) {
	a, err = r.q.BulkAction(ctx, id)
	return a, err == nil, wrap(noRows(err), "find the bulk action", id)
}

// BulkFilter chooses bulk actions; empty fields choose all.
type BulkFilter struct {
	Actor string
	State string // waiting, running, done or cancelled
	// Since and Until bound when they were requested: not before, and before.
	Since, Until time.Time
}

// given returns a time as a parameter, nil = none.
func given(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// BulkActions lists bulk actions, newest first: those before a number (0 = all).
func (r *Records) BulkActions(ctx context.Context, f BulkFilter, before int64, limit int) ([]BulkAction, error) {
	p := pgdb.BulkActionsParams{Actor: f.Actor, State: f.State, Since: given(f.Since), Until: given(f.Until), MaxRows: int32(limit)}
	if before > 0 {
		p.Before = &before
	}
	rows, err := r.q.BulkActions(ctx, p)
	return rows, wrap(err, "list", "bulk actions")
}

// BulkStanding says how the bulk actions that have not ended stand.
type BulkStanding = pgdb.BulkStandingRow

// BulkStanding returns how bulk actions stand.
func (r *Records) BulkStanding(ctx context.Context) (BulkStanding, error) {
	row, err := r.q.BulkStanding(ctx)
	return row, wrap(err, "ask how they stand of", "bulk actions")
}

// OpenBulkActions returns the ids of bulk actions that have not ended, oldest first.
func (r *Records) OpenBulkActions(ctx context.Context, limit int) ([]string, error) {
	ids, err := r.q.OpenBulkActions(ctx, int32(limit))
	return ids, wrap(err, "list", "bulk actions")
}

// LeadBulkAction calls do while no other process has the lead of the bulk action; leads =
// false if another one has it. The lead ends with the connection, so that a process that is
// killed leaves none.
func (r *Records) LeadBulkAction(ctx context.Context, id string, do func() error) (leads bool, err error) {
	err = pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		got, err := pgdb.New(tx).LeadBulkAction(ctx, id)
		if leads = got; err != nil || !got {
			return err
		}
		return do()
	})
	return leads, wrap(err, "lead the bulk action", id)
}

// BeginBulkItems notes that commands are given to things, and that the action has come so
// far in the list; begun = false if another process has, or it is cancelled.
func (r *Records) BeginBulkItems(ctx context.Context, id, from, to string, items []BulkItem) (begun bool, err error) {
	targets, versions := make([]string, len(items)), make([]int64, len(items))
	for i, item := range items {
		targets[i], versions[i] = item.Target, item.Version
	}
	err = r.inTx(ctx, func(q *pgdb.Queries) error {
		n, err := q.MoveBulkAction(ctx, pgdb.MoveBulkActionParams{ToPosition: to, ID: id, FromPosition: from})
		if begun = n == 1; err != nil || !begun {
			return err
		}
		return q.AddBulkItems(ctx, pgdb.AddBulkItemsParams{ActionID: id, Targets: targets, Versions: versions})
	})
	return begun && err == nil, wrap(err, "begin with things of the bulk action", id)
}

// TakeBulkItemsAgain returns the items of which it is not known whether they were changed,
// and counts one try more of each.
func (r *Records) TakeBulkItemsAgain(ctx context.Context, id string) ([]BulkItem, error) {
	items, err := change("bulk/again", func() ([]BulkItem, error) { return r.q.TakeBulkItemsAgain(ctx, id) })
	return items, wrap(err, "take again things of the bulk action", id)
}

// EndBulkItems keeps what became of items, each once. Those that are still begun are to be
// tried again; of the untried their process does not count as one that could not do it.
func (r *Records) EndBulkItems(ctx context.Context, id string, items []BulkItem, untried []string) error {
	return wrap(r.inTx(ctx, func(q *pgdb.Queries) error {
		var done, refused int64
		for _, item := range items {
			if item.Outcome == ItemBegun {
				continue
			}
			n, err := q.EndBulkItem(ctx, pgdb.EndBulkItemParams{Outcome: item.Outcome, Result: item.Result, Code: item.Code, Message: item.Message, ActionID: id, Target: item.Target})
			if err != nil {
				return err
			}
			if item.Outcome == ItemDone {
				done += n
			} else {
				refused += n
			}
		}
		if err := q.UntryBulkItems(ctx, pgdb.UntryBulkItemsParams{ActionID: id, Targets: untried}); err != nil {
			return err
		}
		return q.CountBulkItems(ctx, pgdb.CountBulkItemsParams{Done: done, Refused: refused, ID: id})
	}), "keep what became of things of the bulk action", id)
}

// CancelBulkAction ends a bulk action before all is done; cancelled = false if it has ended
// or was cancelled before.
func (r *Records) CancelBulkAction(ctx context.Context, id, by string) (cancelled bool, err error) {
	n, err := change("bulk/cancel", func() (int64, error) {
		return r.q.CancelBulkAction(ctx, pgdb.CancelBulkActionParams{CancelledBy: by, ID: id})
	})
	return n == 1, wrap(err, "cancel the bulk action", id)
}

// EndBulkAction notes that nothing of a bulk action is left to do.
func (r *Records) EndBulkAction(ctx context.Context, id string) error {
	_, err := change("bulk/end", func() (struct{}, error) { return struct{}{}, r.q.EndBulkAction(ctx, id) })
	return wrap(err, "end the bulk action", id)
}

// BulkItems lists the items of a bulk action after one, those with an outcome or all.
func (r *Records) BulkItems(ctx context.Context, id, outcome, after string, limit int) ([]BulkItem, error) {
	rows, err := r.q.BulkItems(ctx, pgdb.BulkItemsParams{ActionID: id, After: after, Outcome: outcome, MaxRows: int32(limit)})
	return rows, wrap(err, "list things of the bulk action", id)
}
