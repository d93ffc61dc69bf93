package query

import (
	"cmp"
	"context"
	"slices"

	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// Unexplained looks for batches that do not add up: what they list is not what
// completed, failed, is held, deleted and in progress, or a job that was made has no
// row. It scans all batches in turn, a few in each scan, and those that it found in
// every scan. It must not be used by several goroutines at once.
type Unexplained struct {
	Batches int32 // how many at a scan (default 1,000)
	Jobs    int64 // with about how many jobs (default 50,000)

	after string
	found []string // at most maxUnexplained
}

const maxUnexplained = 1000

// Scan continues where the last scan ended, and returns how many batches are known that
// do not add up.
func (u *Unexplained) Scan(ctx context.Context, db Reader) (int, error) {
	p := pgdb.LookAtBatchesParams{After: u.after, MaxRows: cmp.Or(u.Batches, 1000), MaxJobs: cmp.Or(u.Jobs, 50_000), Again: slices.Concat([]string{}, u.found)}
	rows, err := pgdb.New(db).LookAtBatches(ctx, p)
	if err != nil {
		return 0, wrap("look whether batches add up", err)
	}
	from := u.after
	u.after, u.found = "", nil
	known := map[string]bool{}
	for _, row := range rows {
		if !row.Again {
			u.after = row.ID
		}
		if row.Unexplained && !known[row.ID] && len(u.found) < maxUnexplained {
			known[row.ID] = true
			u.found = append(u.found, row.ID)
		}
	}
	if from != "" && u.after == "" { // after the last batch it begins again
		return u.Scan(ctx, db)
	}
	return len(u.found), nil
}
