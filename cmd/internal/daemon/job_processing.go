package daemon

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// jobProcessing names the object, describes it, and stores it as a new version (J10,
// J11), each file through its own attempt in the log. Identifier and version number are
// reserved before they are used, so that a repeated step uses the same ones.
func (s *steps) jobProcessing(ctx context.Context, t *JobTask) Outcome {
	files, err := s.Files(ctx, t.Log, t.Profile, t.Job)
	if err != nil {
		return s.downloadFailed(err, "the manifest could not be read")
	}
	fs, err := s.fileStates(ctx, t, files)
	if err != nil {
		return release(err)
	}
	fs.max = s.cfg.ProcessingAttempts
	p := processingFiles{fs}
	if err := p.takeOver(ctx, false); err != nil {
		return s.trouble(err, "take the files over")
	}
	if err := s.identify(ctx, t); err != nil {
		return s.trouble(err, "name the object")
	}
	objects, err := s.store(ctx, t.Profile)
	if err != nil {
		return s.trouble(err, "open the object store of profile "+t.Profile.Name)
	}
	stored, err := s.storeObject(ctx, t, objects, p)
	if err == nil {
		return nextJob(domain.ProcessJob{Object: stored})
	}
	failed := s.trouble(err, "store the object")
	if ctx.Err() != nil {
		return failed // the next claim ends open attempts
	}
	return p.failed(ctx, reason.Of(err, "store the object"), failed)
}

// storeObject writes the version that is reserved for the job and reads it back. A
// version that an earlier attempt has stored and recorded is only read back. The files'
// attempts begin and end meanwhile.
func (s *steps) storeObject(ctx context.Context, t *JobTask, objects *store.Store, p processingFiles) (o domain.StoredObject, err error) {
	number, err := effect("processing/reserve-version", func() (int, error) {
		return s.cfg.Records.ReserveVersion(ctx, t.Job.ID, t.Job.Identifiers.Primary)
	})
	if err != nil {
		return o, err
	}
	storing, err := s.cfg.Records.BeginEffect(ctx, storeKey(t.Job.ID, number), effectStore)
	if err != nil {
		return o, err
	}
	if err := p.start(ctx); err != nil {
		return o, err
	}
	if storing.Done {
		o, err = storedBy(storing)
	} else {
		o, err = s.writeVersion(ctx, t, number, objects, p)
	}
	if err != nil {
		return o, err
	}
	m, _, err := objects.ReadManifest(ctx, o.ManifestKey)
	if err != nil {
		return o, err
	}
	if err := p.finish(ctx, m); err != nil {
		return o, err
	}
	if _, err := objects.VerifyVersion(ctx, o.Primary, o.Version); err != nil {
		return o, cmp.Or(p.corrupt(ctx, err), err)
	}
	_, err = effect("processing/finish-store", func() (record.Effect, error) { return s.cfg.Records.FinishEffect(ctx, storing.Key, o) })
	return o, err
}

// writeVersion assembles the version and writes it.
func (s *steps) writeVersion(ctx context.Context, t *JobTask, number int, objects *store.Store, p processingFiles) (o domain.StoredObject, err error) {
	j := t.Job
	work, err := s.work(t.Profile)
	if err != nil {
		return o, err
	}
	v := store.Version{Object: j.Identifiers.Primary, Number: number, Created: domain.At(s.cfg.Handler.Clock()),
		Job: j.ID, Batch: j.Configuration.BatchID, LocalIDs: j.Identifiers.LocalID}
	// If an attempt was interrupted after its last write, its time is kept.
	had, _, err := objects.ReadManifest(ctx, store.ManifestKey(v.Object, v.Number))
	switch {
	case err == nil:
		v.Created = had.Created
	case store.CodeOf(err) != store.CodeNotFound:
		return o, err
	}
	have, err := work.Files(v.Batch, v.Job)
	if store.CodeOf(err) == store.CodeNotFound {
		return o, reason.System(reason.CodeFilesMissing, "the downloaded files are gone from %s; submit the object again", j.Configuration.WorkingDir)
	}
	if err != nil {
		return o, err
	}
	defer func() { _ = have.Close() }()
	var leftOut []string
	for i, f := range p.files {
		if p.leftOut(i) {
			leftOut = append(leftOut, f.Name)
			continue
		}
		stored, err := producerFile(have, f, p.state[i].SHA256)
		if err != nil {
			return o, err
		}
		v.Files = append(v.Files, stored)
	}
	descriptions, err := describe(j, t.Profile)
	if err != nil {
		return o, err
	}
	v.Files = append(v.Files, descriptions...)
	if err := s.keepLeftOut(ctx, j, leftOut); err != nil {
		return o, err
	}
	stored, err := effect("processing/store", func() (store.Stored, error) { return objects.WriteVersion(ctx, v) })
	return domain.StoredObject{Primary: v.Object, Version: v.Number, ManifestKey: stored.ManifestKey,
		ManifestSHA256: stored.ManifestSHA256, Files: stored.Files, Bytes: stored.Bytes}, err
}

// producerFile measures a downloaded file and returns it for storing.
func producerFile(have *store.Files, f payload.File, sha string) (store.File, error) {
	r, err := have.Open(f.Name)
	if store.CodeOf(err) == store.CodeNotFound {
		return store.File{}, reason.System(reason.CodeFilesMissing, "%s was downloaded and is gone from the working directory; submit the object again", f.Name)
	}
	if err != nil {
		return store.File{}, err
	}
	m, err := payload.Measured(r, f)
	_ = r.Close()
	if err != nil {
		return store.File{}, fmt.Errorf("%s: %w", f.Name, err)
	}
	if m.SHA256() != sha {
		return store.File{}, reason.System(reason.CodeFilesMissing, "%s was changed in the working directory: the SHA-256 was %s and is %s; submit the object again",
			f.Name, sha, m.SHA256())
	}
	return store.File{Kind: store.KindProducer, Name: f.Name, Size: m.Bytes(), SHA256: m.SHA256(), MimeType: f.MimeType,
		Open: func() (io.ReadCloser, error) { return have.Open(f.Name) }}, nil
}

// describe returns the citation and the Dublin Core description.
func describe(j domain.Job, p Profile) ([]store.File, error) {
	m := j.Metadata
	where := append([]string{j.Identifiers.Primary}, j.Identifiers.LocalID...)
	erc := store.ERC{Who: m.ErcWho, What: m.ErcWhat, When: m.ErcWhen, Where: where}
	dc, err := store.DublinCore{Title: []string{m.ErcWhat}, Creator: []string{m.ErcWho}, Date: []string{m.ErcWhen},
		Publisher: []string{p.Owner}, Identifier: where}.Encode()
	if err != nil {
		return nil, err
	}
	return []store.File{
		store.SystemFile(store.ERCName, "text/plain; charset=utf-8", erc.Encode()),
		store.SystemFile(store.DublinCoreName, "application/xml", dc),
	}, nil
}
