package record

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
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

// StoredVersions returns the newest stored versions of each object that may be seen, newest
// first.
func (r *Records) StoredVersions(ctx context.Context, sees *access.Filter, primaries []string) (map[string][]lookup.Known, error) {
	if len(primaries) == 0 {
		return nil, nil
	}
	limited, collections, own := sees.Limits()
	rows, err := r.q.VersionsOfObjects(ctx, pgdb.VersionsOfObjectsParams{Ids: primaries, Limited: limited, Collections: collections, Own: own, Most: lookup.MaxAnswers})
	of := make(map[string][]lookup.Known, len(rows))
	for _, v := range rows {
		of[v.PrimaryIdentifier] = append(of[v.PrimaryIdentifier], lookup.Known{About: lookup.AboutObject, Batch: v.BatchID, Job: v.JobID,
			Primary: v.PrimaryIdentifier, Version: v.Version, Status: standing(v.Version, v.CurrentVersion), Title: v.ErcWhat, Submitter: v.Submitter, Collection: v.Collection,
			Size: v.Bytes, Where: v.ManifestKey, At: domain.At(v.StoredAt)})
	}
	return of, wrap(err, "look up", "objects")
}

// StoredFiles returns the newest stored files with each digest that may be seen.
func (r *Records) StoredFiles(ctx context.Context, sees *access.Filter, digests []string) (map[string][]lookup.Known, error) {
	if len(digests) == 0 {
		return nil, nil
	}
	limited, collections, own := sees.Limits()
	rows, err := r.q.FilesOfDigests(ctx, pgdb.FilesOfDigestsParams{Ids: digests, Limited: limited, Collections: collections, Own: own, Most: lookup.MaxAnswers})
	of := make(map[string][]lookup.Known, len(rows))
	for _, f := range rows {
		of[f.Sha256] = append(of[f.Sha256], lookup.Known{About: lookup.AboutFile, Batch: f.BatchID, Job: f.JobID, Primary: f.PrimaryIdentifier,
			Version: f.Version, Status: standing(f.Version, f.CurrentVersion), Title: f.ErcWhat, File: f.Name, Submitter: f.Submitter, Collection: f.Collection,
			Size: f.Size, Where: f.Key, At: domain.At(f.StoredAt)})
	}
	return of, wrap(err, "look up", "digests of files")
}

// BatchesOfDigests returns the newest batches whose payload has each digest, newest first, so
// many that those which may be seen are among them: the record does not have their collections.
func (r *Records) BatchesOfDigests(ctx context.Context, sees *access.Filter, digests []string) (map[string][]string, error) {
	if len(digests) == 0 {
		return nil, nil
	}
	most := int32(lookup.MaxAnswers)
	if limited, _, _ := sees.Limits(); limited {
		most *= 100
	}
	rows, err := r.q.BatchesOfDigests(ctx, pgdb.BatchesOfDigestsParams{Ids: digests, Most: most})
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
