package query

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// DownloadFilter chooses files without a job that may be downloaded.
type DownloadFilter struct {
	State domain.FileState // DISCOVERED or DOWNLOADING_FAILED
	Busy  []string         // servers that are not asked now
	// FailedBefore is when a file must have failed, by the number of its attempts from 0, the
	// last for all further numbers; by the log's clock.
	FailedBefore []time.Time
	Limit        int
}

// DownloadCandidate is one of them.
type DownloadCandidate = pgdb.DownloadCandidatesRow

// DownloadCandidates lists the files that the filter selects, in the order of their discovery.
func DownloadCandidates(ctx context.Context, db Reader, f DownloadFilter) ([]DownloadCandidate, error) {
	rows, err := pgdb.New(db).DownloadCandidates(ctx, pgdb.DownloadCandidatesParams{Status: string(f.State), Busy: append([]string{}, f.Busy...),
		Before: f.FailedBefore, Numbers: int64(len(f.FailedBefore)), MaxRows: int32(f.Limit)})
	return rows, wrap("read the table of files", err)
}
