package daemon

import (
	"context"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/daemon/version"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// manifestRow is about how many bytes a file has in a storage manifest, at most.
const manifestRow = 1 << 10

// jobRecording writes the stored object into the inventory (J12, J13), from the storage
// manifest in the store.
func (s *steps) jobRecording(ctx context.Context, t *JobTask) Outcome {
	object, err := version.Stored(ctx, s.cfg.Records, t.Job)
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
	entry := version.Entry(t.Profile, t.Job, m, object)
	if _, err := effect("recording/record", func() (bool, error) { return s.cfg.Records.RecordObject(ctx, entry) }); err != nil {
		return s.errorOutcome(err, "write the inventory")
	}
	return nextJob(domain.RecordJob{})
}
