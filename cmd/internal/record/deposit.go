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
