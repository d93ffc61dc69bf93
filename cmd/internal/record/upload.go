package record

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
)

// Upload is a file that is requested to be accepted under an idempotency key.
type Upload struct {
	Submitter   string
	Key         string
	InputSHA256 string // of what the depositor says of it
	Deposit     string // the id that it has in the drop folder
}

// Upload returns what was kept under the key of a submitter.
func (r *Records) Upload(ctx context.Context, submitter, key string) (u Upload, found bool, err error) {
	row, err := r.q.Upload(ctx, pgdb.UploadParams{Submitter: submitter, KeySha256: KeySHA256(key)})
	if errors.Is(err, pgx.ErrNoRows) {
		return u, false, nil
	}
	return Upload{submitter, key, row.InputSha256, row.DepositID}, err == nil, wrap(err, "find the key", key)
}

// KeepUpload keeps an upload before its file is, unless its key is known: what was kept
// first is returned.
func (r *Records) KeepUpload(ctx context.Context, u Upload) (Upload, error) {
	row, err := change("upload/keep", func() (pgdb.RecordUpload, error) {
		return r.q.KeepUpload(ctx, pgdb.KeepUploadParams{Submitter: u.Submitter, KeySha256: KeySHA256(u.Key), InputSha256: u.InputSHA256, DepositID: u.Deposit})
	})
	return Upload{u.Submitter, u.Key, row.InputSha256, row.DepositID}, wrap(err, "keep the key", u.Key)
}
