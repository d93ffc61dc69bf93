package record

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
)

// RecordedFile names a file of a job in the inventory.
type RecordedFile struct {
	Job  domain.JobID
	Name string
}

// RecordedJobs tells which of these jobs have a version in the inventory, and how
// many files it has, those of the system included.
func (r *Records) RecordedJobs(ctx context.Context, jobs []string) (map[domain.JobID]int64, error) {
	rows, err := r.q.RecordedObjects(ctx, jobs)
	if err != nil {
		return nil, wrap(err, "read the objects of", "jobs")
	}
	have := make(map[domain.JobID]int64, len(rows))
	for _, row := range rows {
		have[domain.JobID(row.JobID)] = row.Files
	}
	return have, nil
}

// RecordedFiles tells which files of these jobs with these names are in the
// inventory, and their SHA-256.
func (r *Records) RecordedFiles(ctx context.Context, jobs, names []string) (map[RecordedFile]string, error) {
	rows, err := r.q.RecordedFiles(ctx, pgdb.RecordedFilesParams{Jobs: jobs, Names: names})
	if err != nil {
		return nil, wrap(err, "read the files of", "jobs")
	}
	have := make(map[RecordedFile]string, len(rows))
	for _, row := range rows {
		have[RecordedFile{domain.JobID(row.JobID), row.Name}] = row.Sha256
	}
	return have, nil
}
