package door

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
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

// About returns what a depositor says of a deposit, for a service.
func About(d app.Deposit) operation.About {
	return operation.About{Profile: d.Profile, Type: string(d.Type), Mode: d.Mode, Digest: d.Digest, Identifier: d.Primary, LocalIDs: d.LocalIDs,
		Title: d.Title, Creator: d.Creator, Date: d.Date, Submitter: d.Submitter}
}

// Payload opens a local file that is sent to a service.
func Payload(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err == nil {
		info, fault := f.Stat()
		if fault == nil && info.Mode().IsRegular() {
			return f, nil
		}
		err = errors.Join(cmp.Or(fault, fmt.Errorf("%s is no regular file", name)), f.Close())
	}
	return nil, &app.Error{Kind: app.NotFound, What: "submit", Err: err, Hint: "give a file that you may read, or a URL"}
}
