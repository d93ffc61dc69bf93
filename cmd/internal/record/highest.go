package record

import (
	"context"
	"fmt"

	"github.com/accession-ingest/accession/domain"
)

// HighestIDs gives the highest ids of which anything is kept, "" = of none.
func (r *Records) HighestIDs(ctx context.Context) (batch domain.BatchID, job domain.JobID, err error) {
	row, err := r.q.HighestIDs(ctx)
	if err != nil {
		return "", "", fmt.Errorf("find the highest ids: %w", err)
	}
	return domain.BatchID(row.BatchID), domain.JobID(row.JobID), nil
}
