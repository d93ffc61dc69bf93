package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/daemon/naming"
	"github.com/accession-ingest/accession/cmd/internal/daemon/order"
	"github.com/accession-ingest/accession/cmd/internal/daemon/ownstep"
	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/daemon/report"
	"github.com/accession-ingest/accession/cmd/internal/daemon/version"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/replica"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// jobProcessing names the object, describes it, and stores it as a new version (J10,
// J11), each file through its own attempt in the log. Identifier and version number are
// reserved before they are used, so that a repeated step uses the same ones.
func (s *steps) jobProcessing(ctx context.Context, t *JobTask) Outcome {
	if out := s.notFirst(ctx, t); out != nil {
		return *out
	}
	files, err := s.objectFiles(ctx, t)
	if err != nil {
		return s.notListed(t, err)
	}
	fs, err := s.fileStates(ctx, t, files)
	if err != nil {
		return release(err)
	}
	fs.max = s.cfg.ProcessingAttempts
	p := processingFiles{fs}
	if err := p.takeOver(ctx, false); err != nil {
		return s.errorOutcome(err, "take the files over")
	}
	if out := s.ownSteps(ctx, t, p); out != nil {
		return *out
	}
	object := naming.Task{Records: s.cfg.Records, Profile: t.Profile, Job: t.Job, Citation: t.cited, Client: s.ClientOf, Account: s.cfg.MinterCredentials[t.Profile.Name],
		Installation: s.cfg.Installation, Clock: s.cfg.Handler.Clock,
		Keep: func(ctx context.Context, cmd domain.IdentifyJob) error { return t.Keep(ctx, cmd) }}
	before := t.Job.Version
	if err := object.Identify(ctx); err != nil {
		return s.errorOutcome(err, "name the object")
	}
	if t.Job.Version != before { // it was named, and has another key
		if out := s.notFirst(ctx, t); out != nil {
			return *out
		}
	}
	objects, err := s.Store(ctx, t.Profile)
	if err != nil {
		return s.errorOutcome(err, "open the object store of profile "+t.Profile.Name)
	}
	var stored domain.StoredObject
	err = s.InTime(ctx, p.weight(), "store the object", t.Job.Identifiers.Primary, func(ctx context.Context) (err error) {
		stored, err = s.storeObject(ctx, t, objects, p)
		return err
	})
	if err == nil {
		if out := s.entrusted(ctx, t, objects, stored, profile.FieldStorage, t.Profile.StorageService()); out != nil {
			return *out
		}
		copies := replica.Keeper{Records: s.cfg.Records.Replicas, Open: s.At, Log: s.cfg.Log}
		if err := crash.Around("daemon/processing/copy", func() error { return copies.Keep(ctx, objects, t.Job.ID, stored, t.Profile) }); err != nil {
			return release(err)
		}
		return nextJob(domain.ProcessJob{Object: stored})
	}
	failed := s.errorOutcome(err, "store the object")
	if ctx.Err() != nil {
		p.giveBack(ctx)
		return failed
	}
	return p.failed(ctx, reason.Of(err, "store the object"), failed)
}

// notFirst returns the outcome of a job that is not the first of its object's jobs and
// waits for the one before it, nil = it is the first.
func (s *steps) notFirst(ctx context.Context, t *JobTask) *Outcome {
	before, err := s.order.Before(ctx, t.Job)
	if before == (order.Before{}) && err == nil {
		return nil
	}
	out := wait(before.Reason(), objectDelay)
	if err != nil {
		out = release(fmt.Errorf("look for earlier jobs of the object: %w", err))
	}
	out.before = before
	return &out
}

// ownSteps returns the outcome of a job of whose own steps one has not ended, or has failed,
// nil = all have a result.
func (s *steps) ownSteps(ctx context.Context, t *JobTask, p processingFiles) *Outcome {
	var files []ownstep.File
	for i, f := range p.state {
		if !p.leftOut(i) {
			files = append(files, ownstep.File{Hash: f.Hash, Name: p.files[i].Name})
		}
	}
	is, err := s.maker().Make(ctx, t.Job, t.Profile, files, t.actor)
	return s.awaits(t, is, err, "make the steps of its profile")
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
	storing, err := s.cfg.Records.BeginEffect(ctx, record.StoreKey(t.Job.ID, number), record.EffectStore)
	if err != nil {
		return o, err
	}
	if err := p.start(ctx); err != nil {
		return o, err
	}
	if storing.Done {
		o, err = version.StoredBy(storing)
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
	if !storing.Done || t.Profile.StorageService() == "" { // else all of it would be read whenever the service is asked
		if _, err := objects.VerifyVersion(ctx, o.Primary, o.Version); err != nil {
			return o, cmp.Or(p.corrupt(ctx, err), err)
		}
	}
	if err := t.packed.skipContainer(ctx); err != nil {
		return o, err
	}
	_, err = effect("processing/finish-store", func() (record.Effect, error) { return s.cfg.Records.FinishEffect(ctx, storing.Key, o) })
	return o, err
}

// writeVersion assembles the version and writes it.
func (s *steps) writeVersion(ctx context.Context, t *JobTask, number int, objects *store.Store, p processingFiles) (o domain.StoredObject, err error) {
	j, err := naming.Cited(t.Job, t.cited)
	if err != nil {
		return o, err
	}
	work, err := s.Work(t.Profile)
	if err != nil {
		return o, err
	}
	v := store.Version{Object: j.Identifiers.Primary, Number: number, Layout: store.Layout(t.Profile.Layout), Created: domain.At(s.cfg.Handler.Clock()),
		Job: j.ID, Batch: j.Configuration.BatchID, LocalIDs: j.Identifiers.LocalID,
		Deposit: &store.Deposit{Owner: t.Profile.Owner, Collection: t.Profile.Collection, ProfileName: t.Profile.Name, Submitter: j.Configuration.Submitter,
			ErcWho: j.Metadata.ErcWho, ErcWhat: j.Metadata.ErcWhat, ErcWhen: j.Metadata.ErcWhen}}
	// If an attempt was interrupted after its last write, its time is kept.
	var stands *store.StorageManifest
	had, _, _, err := objects.FindManifest(ctx, v.Object, v.Number)
	switch {
	case err == nil:
		v.Created, v.Base, stands = had.Created, had.Base, &had
	case store.CodeOf(err) != store.CodeNotFound:
		return o, err
	case j.Configuration.SubmissionMode == payload.ModeUpdate:
		if v.Base, err = s.cfg.Records.CurrentVersion(ctx, v.Object, v.Number); err != nil {
			return o, err
		}
	}
	open := work.Files
	if t.packed != nil {
		open = work.Members
	}
	have, err := open(v.Batch, v.Job)
	if store.CodeOf(err) == store.CodeNotFound {
		return o, reason.System(reason.CodeFilesMissing, "the downloaded files are gone from the working directory; submit the object again")
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
		stored, err := version.Producer(have, f, p.state[i].SHA256)
		if err != nil {
			return o, err
		}
		v.Files = append(v.Files, stored)
	}
	if v.Files, err = version.Updated(ctx, objects, v); err != nil {
		return o, err
	}
	descriptions, err := version.Descriptions(j, t.Profile)
	if err != nil {
		return o, err
	}
	results, err := ownstep.Described(stands, t.results)
	if err != nil {
		return o, err
	}
	v.Files = slices.Concat(v.Files, descriptions, results)
	if err := report.KeepLeftOut(ctx, s.cfg.Objects, j, leftOut); err != nil {
		return o, err
	}
	stored, err := effect("processing/store", func() (store.Stored, error) { return objects.WriteVersion(ctx, v) })
	err = version.Changed(err)
	return domain.StoredObject{Primary: v.Object, Version: v.Number, ManifestKey: stored.ManifestKey,
		ManifestSHA256: stored.ManifestSHA256, Files: stored.Files, Bytes: stored.Bytes}, err
}
