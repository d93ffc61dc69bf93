package record

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
)

// KeepDeposit keeps the digest of the payload of a deposit, and returns the newest earlier
// batch of the same payload, profile and submitter, "" = none.
func (r *Records) KeepDeposit(ctx context.Context, batch domain.BatchID, s domain.Submission) (earlier domain.BatchID, err error) {
	id, err := change("deposit/keep", func() (string, error) {
		return r.q.KeepDeposit(ctx, pgdb.KeepDepositParams{BatchID: string(batch), ProfileName: s.ProfileName, Submitter: s.Submitter,
			DigestAlgorithm: s.DigestAlgorithm, DigestValue: s.DigestValue})
	})
	return domain.BatchID(id), wrap(err, "keep the digest of", string(batch))
}

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
