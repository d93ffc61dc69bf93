package record

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
)

// RestoreListed keeps a file of an open directory as it became known, in place of what is kept
// under its path; nil = nothing is to be kept there. The directory is read as a whole soon, so
// that the row becomes what its server lists.
func (r *Records) RestoreListed(ctx context.Context, discovery, path string, file *Listed, known time.Time) error {
	err := r.inTx(ctx, func(q *pgdb.Queries) error {
		return inOrder(
			func() error {
				if file == nil {
					return q.RemoveListed(ctx, pgdb.RemoveListedParams{Discovery: discovery, Path: path})
				}
				return q.PutListed(ctx, pgdb.PutListedParams{Discovery: discovery, Path: path, RawFileHash: string(file.Hash), Url: file.URL,
					Size: file.Size, Modified: file.Modified, KnownAt: known})
			},
			func() error { return q.ReadWhole(ctx, discovery) })
	})
	return wrap(err, "make again what was listed of", discovery)
}
