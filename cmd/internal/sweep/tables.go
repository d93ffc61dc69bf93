package sweep

import (
	"context"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
)

// Tables finds candidates in PostgreSQL.
type Tables struct{ DB projections.DB }

var _ Finder = Tables{}

// Candidates implements Finder.
func (t Tables) Candidates(ctx context.Context, net Net, after domain.FileHash, limit int) ([]Candidate, error) {
	rows, err := projections.SweepCandidates(ctx, t.DB, projections.SweepNet{
		DownloadBefore: net.DownloadBefore.Time, ProcessingBefore: net.ProcessingBefore.Time,
		Downloads: net.DownloadAttempts, After: after, Limit: limit})
	if err != nil {
		return nil, err
	}
	found := make([]Candidate, len(rows))
	for i, r := range rows {
		found[i] = Candidate{Hash: domain.FileHash(r.RawFileHash), State: domain.FileState(r.Status), Attempts: int(r.Attempts),
			Since: domain.At(r.StatusSince), JobID: domain.JobID(r.JobID), Profile: r.ProfileName}
	}
	return found, nil
}
