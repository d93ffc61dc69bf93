package query

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// SweepFilter chooses files that a sweeper may have to end.
type SweepFilter struct {
	DownloadBefore, ProcessingBefore time.Time       // attempts that began before this, by the log's clock
	Downloads                        int             // failed files without a job that had this many attempts
	After                            domain.FileHash // the last of the page before
	Limit                            int             // at most (default 100)
}

// SweepCandidate is one of them: its state since when, the attempts of the step
// that it is in, its job ("" = it belongs to none), and its profile.
type SweepCandidate = pgdb.SweepCandidatesRow

// SweepCandidates lists the files that the filter selects, in the order of their
// hashes, and those without a job that wait to be processed again. Files of deleted
// jobs are left out.
func SweepCandidates(ctx context.Context, db Reader, net SweepFilter) ([]SweepCandidate, error) {
	rows, err := pgdb.New(db).SweepCandidates(ctx, pgdb.SweepCandidatesParams{
		DownloadBefore: net.DownloadBefore, ProcessingBefore: net.ProcessingBefore,
		MaxDownloads: int64(net.Downloads), After: string(net.After), MaxRows: atMost(net.Limit)})
	return rows, wrap("read the table of files", err)
}
