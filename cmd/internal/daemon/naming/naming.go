// Package naming settles the identifier of a job's object.
package naming

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/mint"
	"github.com/accession-ingest/accession/cmd/internal/mint/service"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
	"github.com/accession-ingest/accession/domain/manifest"
	"github.com/accession-ingest/accession/internal/crash"
)

// Records keeps the identifiers; see record.Records.
type Records interface {
	UseIdentifier(ctx context.Context, u record.Use) error
	LookupLocalID(ctx context.Context, within record.Scope, localIDs []string) (primary string, err error)
	BindLocalID(ctx context.Context, within record.Scope, localIDs []string, primary string, job domain.JobID) (string, error)
	ReserveIdentifier(ctx context.Context, job domain.JobID, name string) (record.Identifier, error)
	ConfirmIdentifier(ctx context.Context, job domain.JobID, name string) error
}

// Task is a job whose object is named.
type Task struct {
	Records Records
	Profile profile.Profile
	Job     domain.Job
	// Citation is in the job's container, nil = it has none. It completes what the deposit says.
	Citation *container.ERC
	// If the profile names a service that makes identifiers known, the Client of the profile asks
	// it, by the Account of the profile, for jobs of this Installation.
	Client       func(profile.Profile) (*fetch.Client, error)
	Account      service.Credentials
	Installation string
	Clock        func() time.Time
	// Keep writes the identifiers to the job.
	Keep func(ctx context.Context, cmd domain.IdentifyJob) error

	kept domain.Identifiers // by the job, before it is identified
}

// maxKeys is how many local ids of a job name its object for the order of its jobs: each
// has a node of its own.
const maxKeys = 100

// Keys returns the keys of the object that the identifiers name, each once. What is not
// an identifier names none.
func Keys(p profile.Profile, ids domain.Identifiers) (keys []domain.ObjectKey) {
	if id, err := mint.Parse(ids.Primary); err == nil {
		keys = append(keys, domain.KeyOfPrimary(p.Collection, id.String()))
	}
	for _, id := range ids.LocalID[:min(len(ids.LocalID), maxKeys)] {
		if key := domain.KeyOfLocalID(p.Owner, p.Collection, id); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Identify settles the identifier of the job's object: the depositor's, the one that
// its local ids lead to, or a new one, which is reserved under the job's id before
// anything else; then a service is given it, if the profile has one. It is written to the
// job at once, so that a repeated step does not mint another one. A worker that died in
// between has left the job's own name bound to its local ids or written to the job: it is
// a minted one all the same.
func (t *Task) Identify(ctx context.Context) (err error) {
	t.kept = t.Job.Identifiers
	if t.Job, err = Cited(t.Job, t.Citation); err != nil {
		return err
	}
	ids, p := t.Job.Identifiers, t.Profile
	minter := mint.Minter{Scheme: p.Identifier.Scheme, Authority: p.Identifier.Authority(), Shoulder: p.Identifier.Shoulder}
	own, err := minter.Derive(string(t.Job.ID))
	if err != nil {
		return err
	}
	if ids.Primary == "" && len(ids.LocalID) == 0 && t.Job.Configuration.SubmissionMode == payload.ModeUpdate {
		return reason.Content(reason.CodeIdentifierMissing, "%s, or in %s in the container", manifest.UnnamedRow, container.Citation)
	}
	if ids.Primary != "" {
		given, err := t.given(ctx, minter, own)
		if err != nil {
			return err
		}
		if err := t.settle(ctx, given, false); err != nil || given != own {
			return err
		}
		return t.keepMinted(ctx, minter, own)
	}
	known, err := t.Records.LookupLocalID(ctx, scope(p), ids.LocalID)
	if err != nil {
		return err
	}
	if known != "" && known != own {
		if err := t.use(ctx, record.Use{Primary: known, Fresh: true}); err != nil {
			return err
		}
		return t.settle(ctx, known, false)
	}
	reserved, err := t.reserve(ctx, own)
	if err != nil {
		return err
	}
	if err := t.use(ctx, record.Use{Primary: reserved.Name, Fresh: true, Minted: true}); err != nil {
		return err
	}
	if err := t.register(ctx, minter, reserved); err != nil {
		return err
	}
	return t.settle(ctx, reserved.Name, true)
}

// register makes a reserved name known by the service of the profile, and keeps that it exists:
// before local ids lead to it, for they must not lead to a name that the service refuses. It is
// given the same name whenever it is asked, and knows for which job the name was made.
func (t *Task) register(ctx context.Context, minter mint.Minter, reserved record.Identifier) error {
	id := t.Profile.Identifier
	if id.Minter == "" || reserved.Done {
		return nil
	}
	name, err := mint.Parse(reserved.Name)
	if err != nil {
		return err
	}
	if !minter.Owns(name) {
		return reason.System(mint.CodeMinterInvalid, "the name %s was reserved for the job under an earlier profile, and is none that its minter makes: submit the object again", reserved.Name)
	}
	r := service.Request{Identifier: reserved.Name, For: t.Installation + "/" + string(t.Job.ID), Target: id.TargetOf(reserved.Name),
		Who: t.Job.Metadata.ErcWho, What: t.Job.Metadata.ErcWhat, When: t.Job.Metadata.ErcWhen, Publisher: t.Profile.Owner, Year: t.Clock().UTC().Year()}
	client, err := t.Client(t.Profile)
	if err != nil {
		return err
	}
	at := service.Service{Kind: id.Minter, URL: id.URL, Credentials: t.Account}
	if err := crash.Around("daemon/processing/register", func() error { return at.Make(ctx, client, r) }); err != nil {
		return err
	}
	return t.Records.ConfirmIdentifier(ctx, t.Job.ID, reserved.Name)
}

// reserve reserves the job's own name for it.
func (t *Task) reserve(ctx context.Context, own string) (reserved record.Identifier, err error) {
	err = crash.Around("daemon/processing/reserve-identifier", func() (err error) {
		reserved, err = t.Records.ReserveIdentifier(ctx, t.Job.ID, own)
		return err
	})
	return reserved, err
}

// keepMinted keeps that the job's own name exists, which an earlier try wrote to the job. It
// was reserved then, but an older copy of the records may be in use since.
func (t *Task) keepMinted(ctx context.Context, minter mint.Minter, own string) error {
	reserved, err := t.reserve(ctx, own)
	if err != nil {
		return err
	}
	if err := t.register(ctx, minter, reserved); err != nil {
		return err
	}
	return t.Records.ConfirmIdentifier(ctx, t.Job.ID, own)
}

// given returns the identifier that the job has, in its normal form, when the deposit
// may use it: for an object of the collection, or a new one with a name of the profile's
// authority that no job can get. own is the name that this job would be given.
func (t *Task) given(ctx context.Context, minter mint.Minter, own string) (string, error) {
	id, err := mint.Parse(t.Job.Identifiers.Primary)
	if err != nil {
		return "", err
	}
	name, mintable := id.String(), minter.Mintable(id)
	err = t.use(ctx, record.Use{Primary: name, Fresh: name == own || minter.Owns(id) && !mintable})
	var missing *record.Error
	if !errors.As(err, &missing) || missing.Code != record.CodeNotFound {
		return name, err
	}
	if mintable {
		return "", reason.Content(reason.CodeIdentifierReserved, "collection %s has no object %s, and names of this form are given by Accession alone: "+
			"leave the identifier out for a new object, or correct it", t.Profile.Collection, name)
	}
	return "", reason.Content(record.CodeIdentifierForeign, "collection %s has no object %s, and new ones are named %s…: correct the identifier, or the profile",
		t.Profile.Collection, name, mint.ID{Scheme: minter.Scheme, Authority: minter.Authority, Name: minter.Shoulder})
}

// use keeps that the job is about to use an identifier for an object of its collection.
func (t *Task) use(ctx context.Context, u record.Use) error {
	u.Job, u.Collection = t.Job.ID, t.Profile.Collection
	return crash.Around("daemon/processing/use-identifier", func() error { return t.Records.UseIdentifier(ctx, u) })
}

func scope(p profile.Profile) record.Scope {
	return record.Scope{Owner: p.Owner, Collection: p.Collection}
}

// settle binds the local ids to the identifier and writes it to the job. Another job
// may have bound them meanwhile: then that job's identifier is used, and a minted one
// stays unused.
func (t *Task) settle(ctx context.Context, primary string, minted bool) error {
	ids := t.Job.Identifiers
	var bound string
	err := crash.Around("daemon/processing/bind-local-id", func() (err error) {
		bound, err = t.Records.BindLocalID(ctx, scope(t.Profile), ids.LocalID, primary, t.Job.ID)
		return err
	})
	if err != nil {
		return err
	}
	if bound != primary && !minted {
		return reason.Content(reason.CodeIdentifierMismatch, "the local ids %q lead to %s, the deposit names %s: correct the one that is wrong",
			ids.LocalID, bound, primary)
	}
	if bound != primary {
		if err := t.use(ctx, record.Use{Primary: bound, Fresh: true}); err != nil {
			return err
		}
	}
	minted = minted && bound == primary
	if t.kept.Primary != bound || len(t.kept.LocalID) != len(ids.LocalID) {
		ids.Primary = bound
		ids.ObjectKeys = Keys(t.Profile, ids)
		err := crash.Around("daemon/processing/identify", func() error { return t.Keep(ctx, domain.IdentifyJob{Identifiers: ids, Minted: minted}) })
		if err != nil {
			return fmt.Errorf("write the identifier to the job: %w", err)
		}
	}
	if minted {
		return t.Records.ConfirmIdentifier(ctx, t.Job.ID, bound)
	}
	return nil
}
