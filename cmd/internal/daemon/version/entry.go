package version

import (
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// Entry returns what the inventory has of a version that a job has stored: what its storage
// manifest says of it.
func Entry(p profile.Profile, j domain.Job, m store.StorageManifest, o domain.StoredObject) record.Object {
	files := make([]record.File, len(m.Files))
	for i, f := range m.Files {
		files[i] = record.File{Kind: string(f.Kind), Name: f.Name, Key: f.Key, Size: f.Size, SHA256: f.SHA256, MimeType: f.MimeType}
	}
	about := j.Metadata
	if d := m.Deposit; d != nil {
		about.ErcWho, about.ErcWhat, about.ErcWhen = d.ErcWho, d.ErcWhat, d.ErcWhen
	}
	return record.Object{Owner: p.Owner, Collection: p.Collection, ProfileName: p.Name, Submitter: j.Configuration.Submitter,
		Metadata: about, ManifestKey: o.ManifestKey, ManifestSHA256: o.ManifestSHA256,
		Manifest: record.Manifest{Object: m.Object, Version: m.Version, Job: m.Job, Batch: m.Batch, Created: m.Created,
			LocalIDs: m.LocalIDs, Files: files, Bytes: m.Bytes}}
}
