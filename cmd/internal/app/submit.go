package app

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
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
	Mode      string // add (also when empty) or update
	Digest    string // of the payload, ALGORITHM:HEX; "" = none given
	Title     string
	Creator   string
	Date      string
}

// Submitted is the batch that a deposit has created.
type Submitted struct {
	Batch      domain.BatchID        `json:"batch"`
	Version    int64                 `json:"version"`
	Type       domain.SubmissionType `json:"type"`
	PayloadURL string                `json:"payload_url"` // without its query, which may be a secret
}

// Submit creates a batch for a deposit (B1). It stores a local file in the object store
// first. A missing type is guessed from the head of a manifest, else from the name.
func (a *App) Submit(ctx context.Context, d Deposit) (s Submitted, err error) {
	defer explained(&err, "submit")
	sub, local, err := d.check()
	if err != nil {
		return s, err
	}
	profiles, err := a.Open.Profiles()
	if err != nil {
		return s, err
	}
	if _, err := profiles.Get(sub.ProfileName); err != nil {
		return s, err
	}
	// Check that there is room before anything is stored.
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return s, err
	}
	live, err := a.Open.Live(ctx)
	if err != nil {
		return s, err
	}
	if err := live.Room(ctx); err != nil {
		return s, err
	}
	if err := a.upload(ctx, d.Payload, local, &sub); err != nil {
		return s, err
	}
	id, err := live.ReserveBatchID(ctx)
	if err != nil {
		return s, err
	}
	res, err := handler.Batch(ctx, id, domain.SubmitBatch{Submission: sub}, a.meta())
	if errors.Is(err, eventstore.ErrUnknown) {
		err = fmt.Errorf("the deposit may have become %s: look for it before you submit again: %w", id, err)
	}
	if err != nil {
		return s, err
	}
	return Submitted{Batch: id, Version: res.State.Version, Type: sub.Type, PayloadURL: sub.PayloadURL}, nil
}

// upload stores a local file in the object store. If the depositor gave no digest it
// adds one, so that later steps can check the content. If a URL contains a secret, the
// records keep the whole URL and the submission gets its public form.
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

// check returns the submission, and an error that lists all faults of the deposit.
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
		if sub.DigestAlgorithm, sub.DigestValue, err = parseDigest(d.Digest); err != nil {
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
	faults = append(faults, d.textFaults(local)...)
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
	if sub.SubmissionMode == modeUpdate && !sub.Type.Batch() {
		return sub, local, &Error{Kind: Invalid, What: "submit", Err: fmt.Errorf("an update must name its object, which a deposit of type %s cannot", sub.Type),
			Hint: fmt.Sprintf("list it in a manifest of many, with its identifier in the column %s or %s", manifest.PrimaryIdentifier, manifest.LocalIdentifier)}
	}
	return sub, local, nil
}

func parseDigest(s string) (algorithm, value string, err error) {
	name, hex, ok := strings.Cut(s, ":")
	if !ok {
		return "", "", errors.New("write ALGORITHM:HEX, such as sha256:9f86d0…")
	}
	a, err := manifest.ParseAlgorithm(name)
	if err != nil {
		return "", "", err
	}
	value, err = a.CheckDigest(hex)
	return string(a), value, err
}

func join[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

// Limits in bytes of the depositor's texts: every job of the batch and many events
// carry them.
const (
	maxText  = 4 << 10 // of one text
	maxTexts = 6 << 10 // of all together
)

// textFaults reports what is wrong with a deposit's texts, each field once.
func (d Deposit) textFaults(local bool) (faults []string) {
	texts := []struct{ field, text string }{
		{"profile", d.Profile}, {"submitter", d.Submitter}, {"title", d.Title}, {"creator", d.Creator}, {"date", d.Date},
	}
	if !local { // its characters are checked as those of a URL
		texts = append(texts, struct{ field, text string }{"payload's URL", d.Payload})
	} else if name := filepath.Base(d.Payload); strings.Trim(name, "./") != "" { // else it is a directory, which upload refuses
		if err := manifest.CheckName(name); err != nil {
			faults = append(faults, err.Error())
		}
	}
	total := 0
	for _, t := range texts {
		total += len(t.text)
		switch {
		case len(t.text) > maxText:
			faults = append(faults, fmt.Sprintf("the %s has %d bytes, more than %d: shorten it", t.field, len(t.text), maxText))
		case t.field == "payload's URL":
		case !utf8.ValidString(t.text):
			faults = append(faults, fmt.Sprintf("the %s is not UTF-8: write it in UTF-8", t.field))
		case strings.ContainsFunc(t.text, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }):
			faults = append(faults, fmt.Sprintf("the %s holds a control character or a line break: remove it", t.field))
		}
	}
	if len(faults) == 0 && total > maxTexts {
		faults = append(faults, fmt.Sprintf("what is said about the deposit has %d bytes, more than %d: shorten the longest", total, maxTexts))
	}
	return faults
}

// guess returns the type of a payload. A local manifest names its type; a manifest
// behind a URL is not read before the deposit is accepted, so its type must be given.
func guess(payload string, local bool) (domain.SubmissionType, error) {
	name := payload
	if !local {
		if u, err := url.Parse(payload); err == nil {
			name = path.Base(u.Path)
		}
	}
	name = strings.ToLower(name)
	if slices.ContainsFunc([]string{".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2"}, func(end string) bool { return strings.HasSuffix(name, end) }) {
		return domain.TypeContainer, nil
	}
	if local {
		f, err := openLocal(payload)
		if err != nil {
			return "", err
		}
		defer f.Close()
		t, err := typeOf(f)
		if t == domain.TypeFile && strings.HasSuffix(name, checkm) {
			return "", &Error{Kind: Invalid, What: "submit", Err: fmt.Errorf("%s is named as a manifest and does not begin as one, with #%%checkm", payload),
				Hint: "correct it, or say with --type " + string(domain.TypeFile) + " that it is to be stored as it is"}
		}
		return t, err
	}
	if strings.HasSuffix(name, checkm) {
		return "", &Error{Kind: Invalid, What: "submit", Err: errors.New("a manifest behind a URL can be of several types"),
			Hint: "say which with --type: " + join([]domain.SubmissionType{domain.TypeObjectManifest, domain.TypeBatchManifest,
				domain.TypeContainerBatchManifest, domain.TypeFileBatchManifest})}
	}
	return domain.TypeFile, nil
}

// checkm is the extension of manifests.
const checkm = ".checkm"

// typeOf reads the head of a local file: a manifest names its profile there. A file
// that does not begin as a manifest, or is empty, is a plain file.
func typeOf(r io.Reader) (domain.SubmissionType, error) {
	lines := bufio.NewScanner(io.LimitReader(r, 64<<10))
	begun := false
	for ; lines.Scan(); begun = true {
		line := strings.TrimPrefix(strings.TrimSpace(lines.Text()), "\ufeff")
		if !begun && !strings.HasPrefix(line, "#%checkm") {
			return domain.TypeFile, nil
		}
		if rest, ok := strings.CutPrefix(line, "#%profile"); ok {
			p, err := manifest.ProfileOf(strings.Trim(rest, "| \t"))
			if err != nil {
				return "", &Error{Kind: Invalid, What: "submit", Err: err, Hint: "correct the manifest, or say with --type what it is"}
			}
			return domain.SubmissionType(p.SubmissionType()), nil
		}
		if line != "" && !strings.HasPrefix(line, "#") {
			break
		}
	}
	if !begun { // empty, or a first line without an end
		return domain.TypeFile, nil
	}
	// A damaged manifest is reported when it is read as an object manifest.
	return domain.TypeObjectManifest, nil
}
