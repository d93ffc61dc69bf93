package record

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/internal/crash"
)

// page is how many URLs are kept in one statement.
const page = 1000

// marker comes before the digest in a public URL.
const marker = "?redacted="

var isDigest = regexp.MustCompile(`^[0-9a-f]{16}$`)

// Revealing reports whether a payload URL has a part that may be a secret, such as
// the signature of a signed URL. Any other is its own public form.
func Revealing(url string) bool { return strings.ContainsAny(url, "?#") }

// Redacted reports whether a URL looks like the public form of a revealing one.
func Redacted(url string) bool {
	_, digest, ok := strings.Cut(url, marker)
	return ok && isDigest.MatchString(digest)
}

// KeepURL keeps a whole payload URL and returns its public form, under which
// [Records.FullURL] finds it: the same without query, and instead of it
// ?redacted= with the start of the SHA-256 of the whole. What is not [Revealing]
// is returned as it is and not kept. The public form of a public form is another one: a
// depositor who copies it gains nothing.
func (r *Records) KeepURL(ctx context.Context, full string) (public string, err error) {
	all, err := r.KeepURLs(ctx, []string{full})
	return all[0], err
}

// KeepURLs is KeepURL for many at once, in the same order.
func (r *Records) KeepURLs(ctx context.Context, full []string) (public []string, err error) {
	public = make([]string, len(full))
	for i := 0; i < len(full) && err == nil; i += page {
		err = r.keepURLs(ctx, full[i:min(i+page, len(full))], public[i:])
	}
	return public, wrap(err, "keep the URLs of payloads", "")
}

func (r *Records) keepURLs(ctx context.Context, full, public []string) error {
	var rows pgdb.KeepPayloadURLsParams
	whole := map[string]string{}
	for i, url := range full {
		public[i] = url
		if !Revealing(url) {
			continue
		}
		sum := sha256.Sum256([]byte(url))
		digest := hex.EncodeToString(sum[:8])
		public[i] = bare(url) + marker + digest
		whole[digest] = url
		rows.Digests, rows.Urls = append(rows.Digests, digest), append(rows.Urls, url)
	}
	if len(whole) == 0 {
		return nil
	}
	if err := crash.Around("record/payload-url/keep", func() error { return r.q.KeepPayloadURLs(ctx, rows) }); err != nil {
		return err
	}
	kept, err := r.q.PayloadURLs(ctx, rows.Digests)
	if err != nil {
		return err
	}
	for _, k := range kept {
		if whole[k.Digest] != k.Url {
			return refuse(CodeURLTaken, "keep the URL", k.Digest, "another URL has this digest: change something in the query")
		}
	}
	return nil
}

// FullURL returns the whole of a URL that KeepURL has made public; any other is
// returned as it is. CodeNotFound: it is not kept, or no longer.
func (r *Records) FullURL(ctx context.Context, public string) (string, error) {
	const op = "look up the whole URL of"
	if !Redacted(public) {
		return public, nil
	}
	head, digest, _ := strings.Cut(public, marker)
	full, err := r.q.PayloadURL(ctx, digest)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && bare(full) != head {
		return "", refuse(CodeNotFound, op, public, "its query is not in record.payload_url: restore the table, or submit the payload again")
	}
	return full, wrap(err, op, public)
}

// RemoveURLs removes the whole URLs that were last kept before this time, and returns how
// many there were.
func (r *Records) RemoveURLs(ctx context.Context, keptBefore time.Time) (removed int, err error) {
	rows, err := change("payload-url/remove", func() (int64, error) { return r.q.RemovePayloadURLs(ctx, keptBefore) })
	return int(rows), wrap(err, "remove old URLs of payloads", "")
}

// bare is a URL without what may be a secret.
func bare(url string) string {
	if i := strings.IndexAny(url, "?#"); i >= 0 {
		return url[:i]
	}
	return url
}
