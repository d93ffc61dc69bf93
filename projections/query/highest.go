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

// CountReportViews returns how many views schema report has; it may be missing.
func CountReportViews(ctx context.Context, db Reader) (int64, error) {
	n, err := pgdb.New(db).CountReportViews(ctx)
	if err != nil {
		return 0, fmt.Errorf("count the views: %w", err)
	}
	return n, nil
}
