package objects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// OpenStored opens a file of the version that a job has stored, recorded or not: a service that
// stores or records it gets the bytes so. fileKind is as in [Open].
func OpenStored(ctx context.Context, a *app.App, job domain.JobID, fileKind, name string) (c *Content, err error) {
	defer app.Explained(&err, "get "+name+" of "+string(job))
	records, err := a.Open.Records(ctx)
	if err != nil {
		return nil, err
	}
	o, err := storedBy(ctx, records, job)
	if err != nil {
		return nil, err
	}
	if err := served(ctx, records, o.Primary); err != nil {
		return nil, err
	}
	profile, err := profileOf(ctx, a, job)
	if err != nil {
		return nil, err
	}
	objects, err := a.Open.ObjectStore(ctx, profile)
	if err != nil {
		return nil, err
	}
	f, found, err := objects.FileOf(ctx, o.ManifestKey, o.ManifestSHA256, store.FileKind(fileKind), name)
	if err != nil {
		return nil, stored(err)
	}
	if !found {
		return nil, notStored("%s has stored no file %q", job, name)
	}
	return open(ctx, objects, File{Kind: string(f.Kind), ID: f.Name, Name: f.Name, Size: f.Size, SHA256: f.SHA256, MimeType: f.MimeType, key: f.Key}, int64(o.Version))
}

func notStored(format string, args ...any) error {
	return &app.Error{Kind: app.NotFound, Err: fmt.Errorf(format, args...), Hint: "files are there, under the names in the storage manifest, once the job has stored its object in processing"}
}

// storedBy returns what a job has stored.
func storedBy(ctx context.Context, records *record.Records, job domain.JobID) (o domain.StoredObject, err error) {
	version, err := records.ReservedVersion(ctx, job)
	if err != nil {
		return o, err
	}
	storing, _, err := records.Effect(ctx, record.StoreKey(job, version))
	if err != nil {
		return o, err
	}
	if version == 0 || !storing.Done {
		return o, notStored("%s has stored nothing yet", job)
	}
	err = json.Unmarshal(storing.Result, &o)
	return o, err
}

// profileOf returns the profile of a job, from the live state, or from the tables once it was
// removed there.
func profileOf(ctx context.Context, a *app.App, job domain.JobID) (name string, err error) {
	live, err := a.Open.Live(ctx)
	if err != nil {
		return "", err
	}
	at, err := live.Job(ctx, job)
	if !errors.Is(err, eventstore.ErrNotFound) {
		return at.State.Configuration.ProfileName, err
	}
	v, err := a.Job(ctx, job)
	return v.ProfileName, err
}
