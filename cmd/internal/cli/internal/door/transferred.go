package door

import (
	"context"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/cmd/internal/remote"
	"github.com/accession-ingest/accession/domain"
)

// transferPause is how often it is looked whether an upload has become a batch.
const transferPause = time.Second / 2

// Transferred returns the batch that an upload becomes.
func Transferred(ctx context.Context, there *remote.Server, id string) (domain.BatchID, error) {
	for {
		s, err := remote.Ask[drops.Shown](ctx, there, "upload.show", &operation.UploadShow{UploadID: operation.UploadID{ID: id}})
		switch {
		case err != nil || s.Batch != "":
			return s.Batch, err
		case s.State != drops.Waiting:
			return "", &app.Error{Kind: app.Refused, What: "wait for " + id, Err: fmt.Errorf("it is %s, and becomes no batch", s.State), Hint: "`accession drop show " + id + "` says why"}
		}
		select {
		case <-time.After(transferPause):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
