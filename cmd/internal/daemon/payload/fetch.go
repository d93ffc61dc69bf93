package payload

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/store"
)

// ClientOf returns the client for requests, with the policy of the profile.
func (s *Source) ClientOf(p profile.Profile) (*fetch.Client, error) {
	policy, err := fetch.ParsePolicy(p.Fetch.Allow)
	if err != nil {
		return nil, reason.System(reason.CodeProfileBroken, "profile %s: %v", p.Name, err)
	}
	policy.Timeout, policy.MinRate = time.Duration(p.Fetch.Timeout), int64(p.Fetch.MinRate)
	if p.Fetch.MinRate == 0 {
		policy.MinRate = -1 // 0 means any rate in a profile, and the default in a policy
	}
	return s.Client.With(policy), nil
}

// Attempts calls try, with growing pauses, until it succeeds, another attempt cannot
// help or the profile's limit is reached.
func (s *Source) Attempts(ctx context.Context, log *slog.Logger, p profile.Profile, try func() error) error {
	return fetch.Try(ctx, fetch.Retry{Attempts: p.Fetch.Attempts, Base: s.RetryDelay,
		Failed: func(n int, err error, wait time.Duration) {
			log.Info("an attempt to fetch failed", "try", n, "wait", wait, "error", err, "cause", errors.Unwrap(err))
		}}, try)
}

// Get writes the bytes of a file to w: by GET, or out of the object store for an
// upload. It gives up beyond limit bytes.
func (s *Source) Get(ctx context.Context, p profile.Profile, f File, w io.Writer, limit int64) error {
	if key, ok := store.KeyOf(f.URL); ok {
		return s.getUpload(ctx, key, w, limit)
	}
	c, err := s.ClientOf(p)
	if err != nil {
		return err
	}
	body, info, err := c.Get(ctx, f.URL, fetch.GetOptions{MaxBytes: limit})
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	if f.Size >= 0 && info.Size >= 0 && f.Size != info.Size {
		return reason.Content(reason.CodeSizeMismatch, "%s: the server announces %d bytes, the deposit says %d; correct the one that is wrong",
			fetch.Redact(f.URL), info.Size, f.Size)
	}
	_, err = io.Copy(w, body)
	return err
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

// Head requests the size of a file, -1 = the server does not state it.
func (s *Source) Head(ctx context.Context, p profile.Profile, f File) (int64, error) {
	if key, ok := store.KeyOf(f.URL); ok {
		info, err := s.Objects.Stat(ctx, key)
		return info.Size, err
	}
	c, err := s.ClientOf(p)
	if err != nil {
		return -1, err
	}
	info, err := c.Head(ctx, f.URL)
	return info.Size, err
}

// Theirs reports whether the cause of an error is the server that a deposit names, not
// our side.
func Theirs(err error) bool {
	var e *fetch.Error
	return errors.As(err, &e) && e.Code != fetch.CodeCancelled
}
