package payload

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/store"
)

// ClientOf returns the client for requests, with the policy of the profile.
func (s *Source) ClientOf(p profile.Profile) (*fetch.Client, error) {
	policy, err := fetch.PolicyOf(p.Fetch.Allow, time.Duration(p.Fetch.Timeout), int64(p.Fetch.MinRate))
	if err != nil {
		return nil, reason.System(reason.CodeProfileBroken, "profile %s: %v", p.Name, err)
	}
	return s.Client.With(policy), nil
}

// Limits bound one Get.
type Limits struct {
	Bytes int64 // of the file
	// Promised is the size that the server stated before, 0 = none: the working space
	// was kept for that many bytes, and only promiseSlack more are taken.
	Promised int64
	Timeout  time.Duration // of the request, 0 = that of the profile
}

// Get writes the bytes of a file to w: by GET, or out of the object store for an
// upload. It gives up beyond the limits.
func (s *Source) Get(ctx context.Context, p profile.Profile, f File, w io.Writer, limits Limits) error {
	if key, ok := store.KeyOf(f.URL); ok {
		return s.InTime(ctx, cmp.Or(max(f.Size, 0), limits.Promised, limits.Bytes), "read the upload", key, func(ctx context.Context) error {
			return s.getUpload(ctx, key, w, limits.Bytes)
		})
	}
	body, _, err := s.Open(ctx, p, f, limits, nil)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	_, err = io.Copy(w, body)
	return limits.Broken(f, err)
}

// Open requests a file that is no upload, or what is missing of it, nil = all. The caller closes the
// body, whose errors it passes to [Limits.Broken].
func (s *Source) Open(ctx context.Context, p profile.Profile, f File, limits Limits, of *fetch.Beginning) (io.ReadCloser, fetch.Info, error) {
	c, err := s.ClientOf(p)
	if err != nil {
		return nil, fetch.Info{}, err
	}
	most := limits.Bytes
	if limits.Promised > 0 {
		most = min(most, limits.Promised+promiseSlack)
	}
	body, info, err := c.Get(ctx, f.URL, fetch.GetOptions{MaxBytes: most, Timeout: limits.Timeout, Beginning: of})
	if err != nil {
		return nil, info, limits.Broken(f, err)
	}
	if f.Size >= 0 && info.Size >= 0 && f.Size != info.Size {
		_ = body.Close()
		return nil, info, reason.Content(reason.CodeSizeMismatch, "%s: the server announces %d bytes, the deposit says %d; correct the one that is wrong",
			fetch.Redact(f.URL), info.Size, f.Size)
	}
	return body, info, nil
}

// promiseSlack is how many bytes a file may have grown since its size was stated: enough
// for a text that is still being written, and little against the reserve of working space.
const promiseSlack = 1 << 20

// Broken returns the error of a file that is larger than promised for what it is: the
// depositor must act, and another attempt cannot help.
func (l Limits) Broken(f File, err error) error {
	var e *fetch.Error
	if l.Promised <= 0 || l.Promised+promiseSlack >= l.Bytes || !errors.As(err, &e) || e.Code != fetch.CodeTooLarge {
		return err
	}
	return reason.Content(reason.CodeSizeMismatch, "%s: the server stated %d bytes and sends over %d more; correct what it states",
		fetch.Redact(f.URL), l.Promised, promiseSlack)
}

func (s *Source) getUpload(ctx context.Context, key string, w io.Writer, limit int64) error {
	r, err := s.Objects.Get(ctx, key)
	if store.CodeOf(err) == store.CodeNotFound {
		return reason.Content(reason.CodeUploadMissing, "%s: no such upload is in the object store; upload it again", store.URL(key))
	}
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	n, err := io.Copy(w, io.LimitReader(r, limit+1))
	if err == nil && n > limit {
		return reason.Content(reason.CodeFileTooLarge, "%s: it is larger than the %d bytes that are allowed", store.URL(key), limit)
	}
	return err
}

// Head requests what its server states about a file. Of an upload only the size is known.
func (s *Source) Head(ctx context.Context, p profile.Profile, f File) (fetch.Info, error) {
	if key, ok := store.KeyOf(f.URL); ok {
		info, err := s.Objects.Stat(ctx, key)
		return fetch.Info{Size: info.Size}, err
	}
	c, err := s.ClientOf(p)
	if err != nil {
		return fetch.Info{Size: -1}, err
	}
	return c.Head(ctx, f.URL)
}

// IsRemote reports whether the cause of an error is the server that a deposit names, as
// far as that can be told.
func IsRemote(err error) bool {
	var e *fetch.Error
	return errors.As(err, &e) && e.Code != fetch.CodeCancelled && !e.Ours
}
