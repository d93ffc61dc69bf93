package record

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
)

// The states of a withdrawal.
const (
	WithdrawalRequested = "requested"
	WithdrawalApproved  = "approved" // nothing of the object is served, and its content is being removed
	WithdrawalRemoved   = "removed"
	WithdrawalRejected  = "rejected"
	WithdrawalTakenBack = "taken_back" // by who requested it
)

// Withdrawal is a request to withdraw an object, and what became of it; the comments of its
// columns are in the database.
type Withdrawal = pgdb.RecordWithdrawal

// RequestWithdrawal keeps that a user wants the content of an object gone, unless a request or
// a withdrawal of it is there. It returns what there is then.
func (r *Records) RequestWithdrawal(ctx context.Context, object, collection, by, why string) (w Withdrawal, added bool, err error) {
	n, err := change("withdrawal/request", func() (int64, error) {
		return r.q.AddWithdrawal(ctx, pgdb.AddWithdrawalParams{PrimaryIdentifier: object, Collection: collection, RequestedBy: by, Reason: why})
	})
	if err != nil {
		return w, false, wrap(err, "request the withdrawal of", object)
	}
	w, _, err = r.Withdrawal(ctx, object)
	return w, n > 0, err
}

// Withdrawal returns the request or the withdrawal of an object, false = there is none.
func (r *Records) Withdrawal(ctx context.Context, object string) (w Withdrawal, found bool, err error) {
	w, err = r.q.OpenWithdrawal(ctx, object)
	return one(w, err, "look for a withdrawal of", object)
}

// DecideWithdrawal keeps what was decided of a request. decide returns the state that it gets,
// "" = the one that it has. Until the decision is kept no job can reserve a version of the object;
// writing are those that have reserved one and not recorded it.
func (r *Records) DecideWithdrawal(ctx context.Context, object, by, why string, decide func(w Withdrawal, writing []domain.JobID) (state string, err error)) (w Withdrawal, err error) {
	const op = "decide the withdrawal of"
	err = r.inTx(ctx, func(q *pgdb.Queries) error {
		if err := q.LockObject(ctx, object); err != nil {
			return err
		}
		if w, err = q.OpenWithdrawal(ctx, object); errors.Is(err, pgx.ErrNoRows) {
			return refuse(CodeNotFound, op, object, "there is no request to withdraw it")
		} else if err != nil {
			return err
		}
		jobs, err := q.UnstoredReservations(ctx, object)
		if err != nil {
			return err
		}
		writing := make([]domain.JobID, len(jobs))
		for i, id := range jobs {
			writing[i] = domain.JobID(id)
		}
		state, err := decide(w, writing)
		if err != nil || state == "" {
			return err
		}
		w, err = q.DecideWithdrawal(ctx, pgdb.DecideWithdrawalParams{Number: w.Number, State: state, DecidedBy: by, Decision: why})
		if errors.Is(err, pgx.ErrNoRows) {
			return refuse(CodeNotFound, op, object, "its request was decided meanwhile")
		}
		return err
	})
	return w, wrap(err, op, object)
}

// ApprovedWithdrawals returns up to most withdrawals whose content is to be removed.
func (r *Records) ApprovedWithdrawals(ctx context.Context, most int) ([]Withdrawal, error) {
	rows, err := r.q.ApprovedWithdrawals(ctx, int32(min(most, 1<<20))) //nolint:gosec // bounded
	return rows, wrap(err, "read the approved", "withdrawals")
}

// Withdrawn reports whether an object was withdrawn: its content is gone, or is being removed.
func (r *Records) Withdrawn(ctx context.Context, object string) (bool, error) {
	gone, err := r.q.WithdrawnObjects(ctx, []string{object})
	return len(gone) > 0, wrap(err, "look for a withdrawal of", object)
}

// WithdrawalRemoved keeps that the content of an object is gone from all stores.
func (r *Records) WithdrawalRemoved(ctx context.Context, w Withdrawal) error {
	_, err := change("withdrawal/removed", func() (struct{}, error) { return struct{}{}, r.q.WithdrawalRemoved(ctx, w.Number) })
	return wrap(err, "keep the removal of", w.PrimaryIdentifier)
}

// WithdrawalFilter chooses withdrawals.
type WithdrawalFilter struct {
	State       string   // "" = any
	Limited     bool     // to the collections
	Collections []string // where it is limited
	Before      *int64   // only those requested before the one of this number, nil = all
	Limit       int
}

// Withdrawals lists withdrawals, newest first.
func (r *Records) Withdrawals(ctx context.Context, f WithdrawalFilter) ([]Withdrawal, error) {
	rows, err := r.q.Withdrawals(ctx, pgdb.WithdrawalsParams{Before: f.Before, State: f.State, Limited: f.Limited,
		Collections: append([]string{}, f.Collections...), MaxRows: int32(min(f.Limit, 1<<20))}) //nolint:gosec // bounded
	return rows, wrap(err, "list", "withdrawals")
}

// notWithdrawn refuses a job that wants to store a version of an object that was withdrawn.
func notWithdrawn(ctx context.Context, q *pgdb.Queries, op string, job domain.JobID, object string) error {
	gone, err := q.WithdrawnObjects(ctx, []string{object})
	if err == nil && len(gone) > 0 {
		err = refuse(CodeObjectWithdrawn, op, string(job), "%s was withdrawn and gets no further versions: deposit it as a new object, under other identifiers", object)
	}
	return err
}
