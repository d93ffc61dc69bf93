package record

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
)

// Upload is a file that is requested to be accepted under an idempotency key.
type Upload struct {
	Submitter   string
	Key         string
	InputSHA256 string // of what the depositor says of it
	Deposit     string // the id that it has in the drop folder
}

// KeepUpload keeps an upload before its file is, unless its key is known: what was kept
// first is returned.
func (r *Records) KeepUpload(ctx context.Context, u Upload) (Upload, error) {
	row, err := change("upload/keep", func() (pgdb.RecordUpload, error) {
		return r.q.KeepUpload(ctx, pgdb.KeepUploadParams{Submitter: u.Submitter, KeySha256: KeySHA256(u.Key), InputSha256: u.InputSHA256, DepositID: u.Deposit})
	})
	return Upload{u.Submitter, u.Key, row.InputSha256, row.DepositID}, wrap(err, "keep the key", u.Key)
}
