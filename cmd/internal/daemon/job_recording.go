package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/daemon/entrust"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/daemon/version"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/stepservice"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// manifestRow is about how many bytes a file has in a storage manifest, at most.
const manifestRow = 1 << 10

// jobRecording writes the stored object into the inventory (J12, J13), from the storage
// manifest in the store; before, the service of the profile does so, if it has one.
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
	if out := s.entrusted(ctx, t, objects, object, profile.FieldRecording, t.Profile.Recording); out != nil {
		return *out
	}
	entry := version.Entry(t.Profile, t.Job, m, object)
	if _, err := effect("recording/record", func() (bool, error) { return s.cfg.Records.RecordObject(ctx, entry) }); err != nil {
		return s.errorOutcome(err, "write the inventory")
	}
	return nextJob(domain.RecordJob{})
}

// entrusted returns the outcome of a job whose stored version a service of the profile has not
// done its step with, nil = it has, or there is none.
func (s *steps) entrusted(ctx context.Context, t *JobTask, objects *store.Store, o domain.StoredObject, field, url string) *Outcome {
	if url == "" {
		return nil
	}
	var at entrust.Standing
	client, err := s.ClientOf(t.Profile)
	if err == nil {
		step := entrust.Step{Records: s.cfg.Records, Client: client, Within: t.Profile.ServiceWithin(), InTime: s.InTime, Pause: s.cfg.RetryDelay}
		at, err = step.Version(ctx, entrust.Entrusted{Field: field, URL: url, Account: stepservice.AccountOf(s.cfg.ServiceCredentials, t.Profile.Name, field), Job: t.Job.ID, Object: o}, objects)
	}
	var out Outcome
	switch of := (*stepservice.Error)(nil); {
	case at.Done:
		return nil
	case err == nil:
		t.tries.Answered(t.Job.ID.Aggregate())
		out = wait(at.Why, min(at.Delay, s.cfg.RetryMaxDelay))
	case errors.As(err, &of):
		out = t.theirs(url, "", err)
	default:
		out = s.errorOutcome(err, "have the service of "+field+" do its step")
	}
	return &out
}
