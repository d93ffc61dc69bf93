package payload

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

// repeatedLimit is how long a manifest is compared with those of earlier deposits.
const repeatedLimit = 3 * time.Second

// Repeated keeps the digest of a deposit's manifest, and returns the warning that the same
// manifest was deposited before by the same submitter for the same profile, nil = none
// is known. The deposit is as good as any: that it cannot be compared with others is no
// fault of it.
func (s *Source) Repeated(ctx context.Context, id domain.BatchID, of domain.Submission, sha256 string) []string {
	if sha256 == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, repeatedLimit)
	defer cancel()
	of.DigestAlgorithm, of.DigestValue = string(manifest.SHA256), sha256
	earlier, err := s.Records.KeepDeposit(ctx, id, of)
	if err != nil || earlier == "" {
		return nil
	}
	return []string{"the same manifest was deposited before, as " + string(earlier)}
}
