package query

import (
	"context"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// HighestIDs returns the highest ids that the tables have, "" = none.
func HighestIDs(ctx context.Context, db Reader) (batch domain.BatchID, job domain.JobID, err error) {
	row, err := pgdb.New(db).HighestIDs(ctx)
	if err != nil {
		return "", "", fmt.Errorf("find the highest ids: %w", err)
	}
	return domain.BatchID(row.BatchID), domain.JobID(row.JobID), nil
}
