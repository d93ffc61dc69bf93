package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// kept compares what is kept of a version with its storage manifest and the log. m is
// zero when the manifest is not sound: then nothing can be repaired.
func (c *checker) kept(v *version, m store.StorageManifest, kept record.Kept) {
	restore := c.restore(v, m)
	add := func(code domain.Code, where string, want, got any) {
		c.found(consistency.NewFinding(code, v.subject(), where, text(want), text(got), restore))
	}
	if kept.Reserved != v.VersionID || !kept.Stored {
		got := describe(kept.Reserved)
		if !kept.Stored {
			got += ", not known to be stored"
		}
		add(consistency.ReservationWrong, "version_reservation", describe(v.VersionID)+", stored", got)
	}
	if v.minted && kept.Identifier != v.Object {
		add(consistency.IdentifierMissing, "identifier", v.Object, kept.Identifier)
	}
	for _, id := range m.LocalIDs {
		if !slices.Contains(kept.LocalIDs, id) {
			add(consistency.LocalIDMissing, "local_id", id+" leads to "+v.Object, "it does not")
		}
	}
	switch {
	case !v.recorded:
	case kept.Version.Object == "":
		add(consistency.VersionUnrecorded, "object_version", describe(v.VersionID), "")
	default:
		c.rows(v, m, kept, add)
	}
}

// rows compares the rows of a recorded version.
func (c *checker) rows(v *version, m store.StorageManifest, kept record.Kept, add func(code domain.Code, where string, want, got any)) {
	want := record.Version{VersionID: v.VersionID, Job: v.Job, Batch: v.batch, ProfileName: v.profile, Submitter: v.submitter,
		ManifestKey: v.manifestKey(), ManifestSHA256: v.digest, Files: int64(v.files), Bytes: v.bytes, Stored: kept.Version.Stored}
	if m.Object != "" {
		want.Stored = m.Created
	}
	if got := kept.Version; got.VersionID != want.VersionID || got.Batch != want.Batch || got.ProfileName != want.ProfileName ||
		got.Submitter != want.Submitter || got.ManifestKey != want.ManifestKey || got.ManifestSHA256 != want.ManifestSHA256 ||
		got.Files != want.Files || got.Bytes != want.Bytes || !got.Stored.Equal(want.Stored.Time) {
		add(consistency.VersionWrong, "object_version", want, got)
	}
	if m.Object != "" {
		if want, got := filesByName(recordFiles(m.Files)), filesByName(kept.Files); !reflect.DeepEqual(want, got) {
			for name := range want {
				if want[name] == got[name] {
					delete(want, name)
					delete(got, name)
				}
			}
			add(consistency.FilesWrong, "object_file", want, got)
		}
	}
	if !v.highest {
		return
	}
	object := kept.Object
	object.Current = v.Version
	if m.Object != "" && len(m.LocalIDs)+len(object.LocalIDs) > 0 {
		object.LocalIDs = m.LocalIDs
	}
	if d := m.Deposit; d != nil {
		object.Owner, object.Collection = d.Owner, d.Collection
		object.Metadata = domain.Metadata{ErcWho: d.ErcWho, ErcWhat: d.ErcWhat, ErcWhen: d.ErcWhen}
	}
	if !reflect.DeepEqual(object, kept.Object) {
		add(consistency.ObjectWrong, "object", object, kept.Object)
	}
}

// restore returns the repair of all that is kept of a version; nil when the storage
// manifest is not sound, or whose the version is is not known. The repair is made once,
// however many findings there are.
func (c *checker) restore(v *version, m store.StorageManifest) func(context.Context) error {
	if m.Object == "" {
		return nil
	}
	if m.Deposit == nil { // of an older program
		if _, err := c.Profiles.Get(v.profile); err != nil {
			return nil
		}
	}
	var once sync.Once
	var err error
	return func(ctx context.Context) error {
		once.Do(func() {
			var d store.Deposit
			if d, err = c.deposit(ctx, v, m); err != nil {
				return
			}
			err = c.Records.RestoreVersion(ctx, record.Restoration{
				Object: record.Object{Owner: d.Owner, Collection: d.Collection, ProfileName: v.profile, Submitter: v.submitter,
					Metadata:    domain.Metadata{ErcWho: d.ErcWho, ErcWhat: d.ErcWhat, ErcWhen: d.ErcWhen},
					ManifestKey: v.manifestKey(), ManifestSHA256: v.digest,
					Manifest: record.Manifest{Object: m.Object, Version: m.Version, Job: m.Job, Batch: m.Batch, Created: m.Created,
						LocalIDs: m.LocalIDs, Files: recordFiles(m.Files), Bytes: m.Bytes}},
				Recorded: v.recorded, Minted: v.minted, Result: v.object()})
		})
		return err
	}
}

// deposit returns what describes the deposit of a version: its storage manifest, or for
// one of an older program the history of the job and its profile.
func (c *checker) deposit(ctx context.Context, v *version, m store.StorageManifest) (d store.Deposit, err error) {
	if m.Deposit != nil {
		return *m.Deposit, nil
	}
	p, err := c.Profiles.Get(v.profile)
	if err != nil {
		return d, err
	}
	d.Owner, d.Collection = p.Owner, p.Collection
	events, err := events(ctx, c.Servers.Log, v.Job)
	for _, e := range events {
		if created, ok := e.Data.(*domain.JobCreated); ok {
			d.ErcWho, d.ErcWhat, d.ErcWhen = created.Metadata.ErcWho, created.Metadata.ErcWhat, created.Metadata.ErcWhen
		}
	}
	return d, err
}

func recordFiles(list []store.StoredFile) []record.File {
	files := make([]record.File, len(list))
	for i, f := range list {
		files[i] = record.File{Kind: string(f.Kind), Name: f.Name, Key: f.Key, Size: f.Size, SHA256: f.SHA256, MimeType: f.MimeType}
	}
	return files
}

func filesByName(list []record.File) map[string]record.File {
	files := make(map[string]record.File, len(list))
	for _, f := range list {
		files[f.Kind+"/"+f.Name] = f
	}
	return files
}

// text returns a value as findings show it.
func text(v any) string {
	switch v := v.(type) {
	case string:
		if v == "" {
			return "nothing"
		}
		return v
	default:
		data, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(data)
	}
}
