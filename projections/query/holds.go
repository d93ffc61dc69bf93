package query

import (
	"context"

	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// HeldCount tells how many batches and jobs of a profile are held.
type HeldCount struct {
	Batches, Jobs int64
}

// Held counts the held batches and jobs by profile; a profile without any is
// missing.
func Held(ctx context.Context, db Reader) (map[string]HeldCount, error) {
	rows, err := pgdb.New(db).HeldByProfile(ctx)
	if err != nil {
		return nil, wrap("count what is held", err)
	}
	held := make(map[string]HeldCount, len(rows))
	for _, row := range rows {
		held[row.ProfileName] = HeldCount{row.Batches, row.Jobs}
	}
	return held, nil
}
