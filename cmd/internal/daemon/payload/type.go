package payload

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/sniff"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

// TypeOf returns what was sent in a batch: as it is known or, where nothing says so, by the first
// bytes of its payload. Where its server does not send them the ending of the URL counts if it
// tells, with a warning. What the depositor must correct is a *reason.Problem.
func (s *Source) TypeOf(ctx context.Context, p profile.Profile, b domain.Batch) (t domain.SubmissionType, warnings []string, err error) {
	sub := b.Submission
	if t = b.Type(); t != "" {
		return t, nil, nil
	}
	t, err = s.look(ctx, p, Payload{URL: sub.PayloadURL, Name: sub.FileName})
	if IsRemote(err) && sniff.Telling(sub.PayloadURL) {
		if t = domain.TypeFile; sniff.Container(sub.PayloadURL, false) {
			t = domain.TypeContainer
		}
		return t, []string{"the deposit is taken as a " + string(t) + ", as the ending of its URL says: its first bytes could not be read: " + reason.Of(err, "").Message}, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("its type is not given and cannot be found out: %w", err)
	}
	named := sub.Primary != "" || len(sub.LocalIDs) > 0
	if fault, remedy := manifest.CheckNamed(string(t), t.Batch(), named, sub.SubmissionMode == ModeUpdate); fault != "" {
		code := domain.CodeManifestInvalid
		if !t.Batch() {
			code = reason.CodeIdentifierMissing
		}
		return "", nil, reason.Content(code, "%s: %s", fault, remedy)
	}
	return t, nil, nil
}

// look returns the type that the first bytes behind a URL say.
func (s *Source) look(ctx context.Context, p profile.Profile, of Payload) (domain.SubmissionType, error) {
	f, err := s.file(ctx, of)
	if err != nil {
		return "", err
	}
	c, err := s.ClientOf(p)
	if err != nil {
		return "", err
	}
	body, err := c.First(ctx, f.URL, sniff.Bytes)
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	t, err := sniff.Type(f.URL, false, body, p.Formats()...)
	if fault, is := errors.AsType[*sniff.Fault](err); is {
		err = reason.At(f.Host(), reason.Content(fault.Code, "%s: %s", fault.Text, fault.Hint))
	}
	return t, err
}
