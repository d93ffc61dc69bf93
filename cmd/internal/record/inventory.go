package record

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
)

// Manifest is what is recorded of a storage manifest; its JSON is the manifest's.
type Manifest struct {
	Object   string         `json:"object_id"`
	Version  int            `json:"version"`
	Job      domain.JobID   `json:"job_id"`
	Batch    domain.BatchID `json:"batch_id"`
	Created  domain.Time    `json:"created"`
	LocalIDs []string       `json:"local_ids"`
	Files    []File         `json:"files"`
	Bytes    int64          `json:"total_bytes"`
}

// File is one file of a version.
type File struct {
	Kind     string `json:"kind"` // producer or system
	Name     string `json:"name"`
	Key      string `json:"key"`
	Size     int64  `json:"size"`
	SHA256   string `json:"sha256"`
	MimeType string `json:"mime_type"`
}

// Object is a stored version of an object, as it goes into the inventory.
type Object struct {
	Owner, Collection      string
	ProfileName, Submitter string
	Metadata               domain.Metadata
	Manifest               Manifest
	ManifestKey            string // where the manifest is in the object store
	ManifestSHA256         string
}

// RecordObject writes a stored version into the inventory. Recording the same
// again changes nothing and returns false. CodeInventoryConflict: the job has
// recorded something else, or has not reserved this version.
func (r *Records) RecordObject(ctx context.Context, o Object) (recorded bool, err error) {
	const op = "record the object of"
	m := o.Manifest
	about := string(m.Job)
	err = r.inTx(ctx, func(q *pgdb.Queries) error {
		if err := q.LockObject(ctx, m.Object); err != nil {
			return err
		}
		had, err := q.ObjectVersionOfJob(ctx, string(m.Job))
		switch {
		case err == nil && had.PrimaryIdentifier == m.Object && had.Version == int64(m.Version) && had.ManifestSha256 == o.ManifestSHA256:
			return nil
		case err == nil:
			return refuse(CodeInventoryConflict, op, about, "version %d of %s with manifest %s is recorded, not version %d of %s with manifest %s",
				had.Version, had.PrimaryIdentifier, had.ManifestSha256, m.Version, m.Object, o.ManifestSHA256)
		case !errors.Is(err, pgx.ErrNoRows):
			return err
		}
		kept, err := q.VersionReservation(ctx, string(m.Job))
		if errors.Is(err, pgx.ErrNoRows) || err == nil && (kept.PrimaryIdentifier != m.Object || kept.Version != int64(m.Version)) {
			return refuse(CodeInventoryConflict, op, about, "version %d of %s is not reserved for it", m.Version, m.Object)
		}
		if err != nil {
			return err
		}
		recorded = true
		return insertObject(ctx, q, o)
	})
	if err != nil {
		return false, wrap(err, op, about)
	}
	return recorded, nil
}

// RecordedObject returns the version that a job has in the inventory, false = none.
func (r *Records) RecordedObject(ctx context.Context, job domain.JobID) (o domain.StoredObject, found bool, err error) {
	row, err := r.q.ObjectVersionOfJob(ctx, string(job))
	if errors.Is(err, pgx.ErrNoRows) {
		return o, false, nil
	}
	if err != nil {
		return o, false, wrap(err, "read the object of", string(job))
	}
	return domain.StoredObject{Primary: row.PrimaryIdentifier, Version: int(row.Version), ManifestKey: row.ManifestKey,
		ManifestSHA256: row.ManifestSha256, Files: int(row.Files), Bytes: row.Bytes}, true, nil
}

func insertObject(ctx context.Context, q *pgdb.Queries, o Object) error {
	m, e := o.Manifest, o.Metadata
	files, err := json.Marshal(m.Files)
	if err != nil {
		return err
	}
	if m.LocalIDs == nil {
		m.LocalIDs = []string{}
	}
	if err := q.UpsertObject(ctx, pgdb.UpsertObjectParams{
		PrimaryIdentifier: m.Object, Owner: o.Owner, Collection: o.Collection, Version: int64(m.Version),
		ErcWho: e.ErcWho, ErcWhat: e.ErcWhat, ErcWhen: e.ErcWhen, LocalID: m.LocalIDs,
	}); err != nil {
		return err
	}
	n, err := q.InsertObjectVersion(ctx, pgdb.InsertObjectVersionParams{
		PrimaryIdentifier: m.Object, Version: int64(m.Version), JobID: string(m.Job), BatchID: string(m.Batch),
		ProfileName: o.ProfileName, Submitter: o.Submitter, ManifestKey: o.ManifestKey, ManifestSha256: o.ManifestSHA256,
		Files: int64(len(m.Files)), Bytes: m.Bytes, StoredAt: m.Created.Time,
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return refuse(CodeInventoryConflict, "record the object of", string(m.Job), "version %d of %s is another job's", m.Version, m.Object)
	}
	if len(m.Files) == 0 {
		return nil
	}
	return q.InsertObjectFiles(ctx, pgdb.InsertObjectFilesParams{PrimaryIdentifier: m.Object, Version: int64(m.Version), Files: files})
}

// RecordedFile is a file of a job in the inventory.
type RecordedFile struct {
	Job  domain.JobID
	Name string
}

// RecordedJobs returns how many files, those of the system included, the versions
// have that these jobs have in the inventory.
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

// CurrentVersion returns the highest version below one that an object has in the
// inventory, 0 = none.
func (r *Records) CurrentVersion(ctx context.Context, primary string, below int) (int, error) {
	n, err := r.q.CurrentVersion(ctx, pgdb.CurrentVersionParams{PrimaryIdentifier: primary, Below: int64(below)})
	return int(n), wrap(err, "find the current version of", primary)
}

// RecordedVersions returns which versions of their objects these jobs have in the
// inventory.
func (r *Records) RecordedVersions(ctx context.Context, jobs []string) (map[domain.JobID]int, error) {
	rows, err := r.q.RecordedObjects(ctx, jobs)
	if err != nil {
		return nil, wrap(err, "read the versions of", "jobs")
	}
	have := make(map[domain.JobID]int, len(rows))
	for _, row := range rows {
		have[domain.JobID(row.JobID)] = int(row.Version)
	}
	return have, nil
}

// RecordedFiles returns the SHA-256 of those files of these jobs with these names
// that are in the inventory.
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
