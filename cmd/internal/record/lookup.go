package record

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/lookup"
)

// The states of what is stored.
const (
	current    = "current"
	superseded = "superseded"
)

// ObjectsOfLocalIDs returns the newest objects of each local id, of all owners.
func (r *Records) ObjectsOfLocalIDs(ctx context.Context, ids []string) (map[string][]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := r.q.ObjectsOfLocalIDs(ctx, pgdb.ObjectsOfLocalIDsParams{Ids: ids, Most: lookup.MaxAnswers})
	of := make(map[string][]string, len(rows))
	for _, row := range rows {
		of[row.LocalID] = append(of[row.LocalID], row.PrimaryIdentifier)
	}
	return of, wrap(err, "look up", "local ids")
}

// StoredVersions returns the newest stored versions of each object, newest first.
func (r *Records) StoredVersions(ctx context.Context, primaries []string) (map[string][]lookup.Known, error) {
	if len(primaries) == 0 {
		return nil, nil
	}
	rows, err := r.q.VersionsOfObjects(ctx, pgdb.VersionsOfObjectsParams{Ids: primaries, Most: lookup.MaxAnswers})
	of := make(map[string][]lookup.Known, len(rows))
	for _, v := range rows {
		of[v.PrimaryIdentifier] = append(of[v.PrimaryIdentifier], lookup.Known{About: lookup.AboutObject, Batch: v.BatchID, Job: v.JobID,
			Primary: v.PrimaryIdentifier, Version: v.Version, Status: standing(v.Version, v.CurrentVersion), Title: v.ErcWhat, Submitter: v.Submitter,
			Size: v.Bytes, Where: v.ManifestKey, At: domain.At(v.StoredAt)})
	}
	return of, wrap(err, "look up", "objects")
}

// StoredFiles returns the newest stored files with each digest.
func (r *Records) StoredFiles(ctx context.Context, digests []string) (map[string][]lookup.Known, error) {
	if len(digests) == 0 {
		return nil, nil
	}
	rows, err := r.q.FilesOfDigests(ctx, pgdb.FilesOfDigestsParams{Ids: digests, Most: lookup.MaxAnswers})
	of := make(map[string][]lookup.Known, len(rows))
	for _, f := range rows {
		of[f.Sha256] = append(of[f.Sha256], lookup.Known{About: lookup.AboutFile, Batch: f.BatchID, Job: f.JobID, Primary: f.PrimaryIdentifier,
			Version: f.Version, Status: standing(f.Version, f.CurrentVersion), Title: f.ErcWhat, File: f.Name, Submitter: f.Submitter,
			Size: f.Size, Where: f.Key, At: domain.At(f.StoredAt)})
	}
	return of, wrap(err, "look up", "digests of files")
}

// BatchesOfDigests returns the newest batches whose payload has each digest, newest
// first.
func (r *Records) BatchesOfDigests(ctx context.Context, digests []string) (map[string][]string, error) {
	if len(digests) == 0 {
		return nil, nil
	}
	rows, err := r.q.BatchesOfDigests(ctx, pgdb.BatchesOfDigestsParams{Ids: digests, Most: lookup.MaxAnswers})
	of := make(map[string][]string, len(rows))
	for _, row := range rows {
		of[row.DigestValue] = append(of[row.DigestValue], row.BatchID)
	}
	return of, wrap(err, "look up", "digests of payloads")
}

func standing(version, newest int64) string {
	if version == newest {
		return current
	}
	return superseded
}
