package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app/intake"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/sniff"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/manifest"
	"github.com/accession-ingest/accession/eventstore"
)

// The modes of a submission.
const (
	modeAdd    = "add"
	modeUpdate = "update"
)

// Deposit is a request to submit a payload.
type Deposit struct {
	Profile   string // required
	Submitter string // required
	Payload   string // required: http or https URL, or the path of a local file
	Type      domain.SubmissionType
	Mode      string   // add (also when empty) or update
	Digest    string   // of the payload, ALGORITHM:HEX; "" = none given
	Primary   string   // identifier of the one object, "" = none given; see LocalIDs
	LocalIDs  []string // the depositor's own names of the one object
	Title     string
	Creator   string
	Date      string
	// Key is the idempotency key: under one key of a submitter one batch is made, however
	// often the deposit is requested. "" = each request makes one.
	Key string
	// Synchronous asks that the deposit runs at once, or is refused, instead of waiting in a
	// deposit queue.
	Synchronous bool
	// Received is when the deposit was received, zero = now.
	Received time.Time
	ID       string // that the depositor was told, "" = none
	User     string // account that made it, "" = that of the App's actor
	Slot     string // of the group of files that it is, "" = it is none
}

// Submitted is the batch that a deposit has created.
type Submitted struct {
	Batch      domain.BatchID        `json:"id"`
	Version    int64                 `json:"version"`
	Type       domain.SubmissionType `json:"type"`        // "" = its content will say it
	PayloadURL string                `json:"payload_url"` // without its query, which may be a secret
	intake.Earlier
	// Again says that an earlier request under the same key has made the batch.
	Again bool `json:"again,omitempty"`
}

// Submit creates a batch for a deposit (B1), unless an earlier request under the same key
// has. It stores a local file in the object store first. A missing type is found
// out by the content: of a local file now, of a URL when the batch is listed.
func (a *App) Submit(ctx context.Context, d Deposit) (s Submitted, err error) {
	defer Explained(&err, "submit")
	sub, local, err := a.checked(d, func() (*profile.Set, error) { return a.ProfileSet(ctx) })
	if err != nil {
		return s, err
	}
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return s, err
	}
	live, err := a.Open.Live(ctx)
	if err != nil {
		return s, err
	}
	once, err := a.once(ctx, d) // what an earlier request under the same key did, if there was one
	if err != nil {
		return s, err
	}
	// Check that there is room before anything is stored.
	if !once.requested() {
		err := live.Room(ctx)
		if err == nil {
			err = intake.Admit(ctx, a.Open.DepositQueues, fair.QueueMetadata, sub.Submitter, d.ID != "")
		}
		if err != nil {
			return s, err
		}
		if d.Synchronous {
			if err := handler.Admits(ctx, "", sub.Submitter); err != nil {
				return s, err
			}
		}
	}
	sub.Received = domain.At(cmp.Or(d.Received, handler.Clock()))
	sub.SubmissionID, sub.User, sub.Slot = d.ID, cmp.Or(d.User, a.Actor.User()), d.Slot
	if err := a.upload(ctx, d.Payload, local, &sub); err != nil {
		return s, err
	}
	id, err := once.reserve(ctx, live, sub)
	if err != nil {
		return s, err
	}
	if s, found, err := once.accepted(ctx, live, id); found || err != nil {
		return s, err
	}
	res, err := handler.Batch(ctx, id, domain.SubmitBatch{Submission: sub, Synchronous: d.Synchronous}, a.Meta())
	if errors.Is(err, eventstore.ErrUnknown) {
		err = fmt.Errorf("the deposit may have become %s: look for it before you submit again: %w", id, err)
	}
	if err != nil {
		return once.overtaken(ctx, live, id, err)
	}
	return Submitted{Batch: id, Version: res.State.Version, Type: sub.Type, PayloadURL: sub.PayloadURL, Earlier: intake.Remember(ctx, a.Open, id, sub)}, nil
}

// upload stores what the later steps read: a local file in the object store, and a URL
// that contains a secret in the records. The submission gets the URL to read it by, for
// a secret one without the secret, and for a file its digest unless the depositor gave one.
func (a *App) upload(ctx context.Context, payload string, local bool, sub *domain.Submission) error {
	if !local {
		if !record.Revealing(payload) {
			return nil
		}
		records, err := a.Open.Records(ctx)
		if err == nil {
			sub.PayloadURL, err = records.KeepURL(ctx, payload)
		}
		return err
	}
	f, err := openLocal(payload)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errorf(Invalid, "give one file; a manifest can list many", "%s is not a file", payload)
	}
	uploads, err := a.Open.Uploads(ctx)
	if err != nil {
		return err
	}
	sub.FileName = manifest.NormalName(filepath.Base(payload))
	url, blob, err := uploads.KeepUpload(ctx, sub.FileName, f)
	if sub.PayloadURL, sub.Size = url, blob.Size; sub.DigestValue == "" {
		sub.DigestAlgorithm, sub.DigestValue = string(manifest.SHA256), blob.SHA256
	}
	return err
}

// openLocal opens the file that is submitted.
func openLocal(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &Error{Kind: NotFound, What: "submit", Err: err, Hint: "give the path of a file, or a URL that starts with http:// or https://"}
	}
	return f, nil
}

// Check returns the error with which Submit would refuse the deposit for its fields or its
// profile. It asks no server.
func (a *App) Check(d Deposit) (err error) {
	defer Explained(&err, "submit")
	_, _, err = a.checked(d, a.Open.Profiles)
	return err
}

// checked checks a deposit, and returns the submission with its type and the version of its
// profile, and whether its payload is a local file.
func (a *App) checked(d Deposit, known func() (*profile.Set, error)) (sub domain.Submission, local bool, err error) {
	if sub, local, err = d.check(); err != nil {
		return sub, local, err
	}
	profiles, err := known()
	if err != nil {
		return sub, local, err
	}
	p, err := profiles.Get(sub.ProfileName)
	if err != nil {
		return sub, local, err
	}
	sub.ProfileVersion = p.Version
	if d.Type == "" && local && sub.Type == domain.TypeFile && intake.IsMetadata(d.Payload, p) {
		sub.Type = domain.TypeMetadata
	}
	return sub, local, nil
}

// check does the part of [App.checked] that needs no profile. The error lists all faults of
// single fields together; whether the fields fit each other is checked after that.
func (d Deposit) check() (sub domain.Submission, local bool, err error) {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if d.Profile == "" {
		fault("no profile is given")
	}
	if d.Submitter == "" {
		fault("no submitter is given")
	}
	sub = domain.Submission{ProfileName: d.Profile, Submitter: d.Submitter, PayloadURL: d.Payload, Type: d.Type,
		ErcWhat: d.Title, ErcWho: d.Creator, ErcWhen: d.Date, SubmissionMode: cmp.Or(d.Mode, modeAdd)}
	if sub.SubmissionMode != modeAdd && sub.SubmissionMode != modeUpdate {
		fault("mode %q is neither %s nor %s", d.Mode, modeAdd, modeUpdate)
	}
	if d.Digest != "" {
		if sub.DigestAlgorithm, sub.DigestValue, err = manifest.ParseDigest(d.Digest); err != nil {
			fault("digest: %v", err)
		}
	}
	local = !strings.Contains(d.Payload, "://")
	switch {
	case d.Payload == "":
		fault("no payload is given")
	case !local:
		sub.FileName = manifest.PayloadName(d.Payload)
		if err := manifest.CheckURL(d.Payload, false); err != nil {
			fault("%v", err)
		}
	}
	faults = append(faults, intake.Texts{Profile: d.Profile, Submitter: d.Submitter, Title: d.Title, Creator: d.Creator, Date: d.Date,
		Primary: d.Primary, LocalIDs: d.LocalIDs, Payload: d.Payload, Key: d.Key}.Faults(local)...)
	if sub.Type == "" && len(faults) == 0 {
		if sub.Type, err = guess(d.Payload, local); err != nil {
			return sub, local, err
		}
	}
	if sub.Type != "" && !slices.Contains(domain.SubmissionTypes, sub.Type) {
		fault("type %q is not one of %s", d.Type, join(domain.SubmissionTypes))
	}
	if len(faults) > 0 {
		hint := ""
		if d.Profile == "" {
			hint = "name the collection's profile with --profile; `accession profile ls` lists them"
		}
		return sub, local, &Error{Kind: Invalid, What: "submit", Err: errors.New(strings.Join(faults, "; ")), Hint: hint}
	}
	sub.Primary, sub.LocalIDs = d.Primary, manifest.Distinct(d.LocalIDs)
	if d.Key != "" {
		sub.KeySHA256 = record.KeySHA256(d.Key)
	}
	if sub.Type == "" && !sniff.Telling(d.Payload) { // its content may be a batch manifest
		return sub, local, nil
	}
	return sub, local, named(sub)
}

// named checks that a submission names its object, or does not, as its type and mode have it.
// One without a type counts as a file.
func named(sub domain.Submission) error {
	named := sub.Primary != "" || len(sub.LocalIDs) > 0
	if what, hint := manifest.CheckNamed(string(sub.Type), sub.Type.Batch(), named, sub.SubmissionMode == modeUpdate); what != "" {
		return &Error{Kind: Invalid, What: "submit", Err: errors.New(what), Hint: hint}
	}
	return nil
}

func join[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

// guess returns the type of a local file by its content. What is behind a URL is found out when the
// batch is listed.
func guess(payload string, local bool) (domain.SubmissionType, error) {
	if !local {
		return "", nil
	}
	f, err := openLocal(payload)
	if err != nil {
		return "", err
	}
	defer f.Close()
	t, err := sniff.Type(payload, local, f)
	if err != nil {
		hint := ""
		if fault, is := errors.AsType[*sniff.Fault](err); is {
			hint = fault.Hint
		}
		err = &Error{Kind: Invalid, What: "submit", Err: err, Hint: hint}
	}
	return t, err
}
