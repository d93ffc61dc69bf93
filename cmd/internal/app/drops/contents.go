package drops

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Contents opens the file of a submitter's deposit, as it was sent; id is that of the drop
// folder, or of its batch. The error is one of kind NotFound if it was never accepted, and of
// kind Refused once its file is kept as a stored object only.
func Contents(ctx context.Context, a *app.App, id, submitter string) (file io.ReadCloser, name string, err error) {
	defer app.Explained(&err, "send the file")
	batch, err := domain.ParseBatchID(id)
	if err != nil {
		s, err := Show(ctx, a, id, submitter)
		if err != nil {
			return nil, "", err
		}
		if s.State == Waiting || s.State == Refused {
			folder, err := a.Open.Drop(false)
			if err != nil {
				return nil, "", err
			}
			file, err := os.Open(folder.Path(s.Deposit))
			return file, s.FileName, err
		}
		batch = s.Batch
	}
	gone := &app.Error{Kind: app.Refused, Err: errors.New("it is no longer kept as it was sent"), Hint: "what was stored of it is found with GET /v1/objects"}
	if batch == "" {
		return nil, "", gone
	}
	live, err := a.Open.Live(ctx)
	if err != nil {
		return nil, "", err
	}
	b, err := live.Batch(ctx, batch)
	if errors.Is(err, eventstore.ErrNotFound) {
		return nil, "", gone
	}
	if err != nil {
		return nil, "", err
	}
	key, ok := store.KeyOf(b.State.Submission.PayloadURL)
	if !ok {
		return nil, "", gone
	}
	objects, err := a.Open.Uploads(ctx)
	if err != nil {
		return nil, "", err
	}
	file, err = objects.Get(ctx, key)
	return file, b.State.Submission.FileName, err
}
