package daemon

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// manifestRow is about how many bytes a file has in a storage manifest, at most.
const manifestRow = 1 << 10

// jobRecording writes the stored object into the inventory (J12, J13), from the storage
// manifest in the store.
func (s *steps) jobRecording(ctx context.Context, t *JobTask) Outcome {
	object, err := s.storedObject(ctx, t.Job)
	if err != nil {
		return s.errorOutcome(err, "find what was stored")
	}
	objects, err := s.Store(ctx, t.Profile)
	if err != nil {
		return s.errorOutcome(err, "open the object store of profile "+t.Profile.Name)
	}
	var m store.StorageManifest
	var sha string
	err = s.InTime(ctx, int64(object.Files)*manifestRow, "read the storage manifest", object.ManifestKey, func(ctx context.Context) (err error) {
		m, sha, err = objects.ReadManifest(ctx, object.ManifestKey)
		return err
	})
	if err != nil {
		return s.errorOutcome(err, "read the storage manifest")
	}
	if sha != object.ManifestSHA256 || m.Object != object.Primary || m.Version != object.Version || m.Job != t.Job.ID {
		return fail(domain.Reason{Class: domain.ClassSystem, Code: reason.CodeStorage,
			Message: fmt.Sprintf("%s is not the storage manifest that was written: its SHA-256 is %s and was %s; restore it", object.ManifestKey, sha, object.ManifestSHA256)})
	}
	entry := inventoryEntry(t, m, object)
	if _, err := effect("recording/record", func() (bool, error) { return s.cfg.Records.RecordObject(ctx, entry) }); err != nil {
		return s.errorOutcome(err, "write the inventory")
	}
	return nextJob(domain.RecordJob{})
}

// storedObject returns what processing stored for the job.
func (s *steps) storedObject(ctx context.Context, j domain.Job) (o domain.StoredObject, err error) {
	version, err := s.cfg.Records.ReserveVersion(ctx, j.ID, j.Identifiers.Primary)
	if err != nil {
		return o, err
	}
	storing, err := s.cfg.Records.BeginEffect(ctx, record.StoreKey(j.ID, version), record.EffectStore)
	if err != nil {
		return o, err
	}
	if !storing.Done {
		return o, reason.System(reason.CodeStorage, "version %d of %s is not known to be stored; the records may have been restored from an old copy", version, j.Identifiers.Primary)
	}
	return storedBy(storing)
}

// storedBy returns the object of a finished effect.
func storedBy(storing record.Effect) (o domain.StoredObject, err error) {
	if err := json.Unmarshal(storing.Result, &o); err != nil {
		return o, reason.System(reason.CodeStorage, "the record of what was stored cannot be read: %v", err)
	}
	return o, nil
}

func inventoryEntry(t *JobTask, m store.StorageManifest, o domain.StoredObject) record.Object {
	p, j := t.Profile, t.Job
	files := make([]record.File, len(m.Files))
	for i, f := range m.Files {
		files[i] = record.File{Kind: string(f.Kind), Name: f.Name, Key: f.Key, Size: f.Size, SHA256: f.SHA256, MimeType: f.MimeType}
	}
	return record.Object{Owner: p.Owner, Collection: p.Collection, ProfileName: p.Name, Submitter: j.Configuration.Submitter,
		Metadata: j.Metadata, ManifestKey: o.ManifestKey, ManifestSHA256: o.ManifestSHA256,
		Manifest: record.Manifest{Object: m.Object, Version: m.Version, Job: m.Job, Batch: m.Batch, Created: m.Created,
			LocalIDs: m.LocalIDs, Files: files, Bytes: m.Bytes}}
}
