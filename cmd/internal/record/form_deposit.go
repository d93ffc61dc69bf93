package record

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
)

// KeepFormDeposit keeps a name of a deposit or query that a form has taken.
func (r *Records) KeepFormDeposit(ctx context.Context, submitter, name, takenAs string) error {
	_, err := change("form/keep", func() (struct{}, error) {
		return struct{}{}, r.q.KeepFormDeposit(ctx, pgdb.KeepFormDepositParams{Submitter: submitter, Name: name, TakenAs: takenAs})
	})
	return wrap(err, "keep the name", name)
}

// FormDeposits returns what a submitter's forms have taken under a name, the newest first;
// not all of it was accepted.
func (r *Records) FormDeposits(ctx context.Context, submitter, name string) ([]string, error) {
	all, err := r.q.FormDeposits(ctx, pgdb.FormDepositsParams{Submitter: submitter, Name: name})
	return all, wrap(err, "find the name", name)
}
