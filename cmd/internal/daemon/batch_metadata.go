package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/daemon/report"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/metadata"
)

// listMetadata checks the metadata file, keeps it and the result of each of its records,
// and lists the batch with its one job, unless an earlier worker did. If the depositor
// must correct the file the error is a *reason.Problem.
func (s *steps) listMetadata(ctx context.Context, p Profile, t *BatchTask) error {
	if t.Batch.Listing != nil {
		return nil
	}
	formats := p.Formats()
	if len(formats) == 0 {
		return reason.Content(domain.CodeManifestInvalid, "the profile %s takes no metadata files: deposit it as a file, or with another profile", p.Name)
	}
	sub := t.Batch.Submission
	data, err := s.FetchManifest(ctx, p, payload.Payload{URL: sub.PayloadURL, Algorithm: sub.DigestAlgorithm, Digest: sub.DigestValue, Size: sub.Size})
	if err != nil {
		return err
	}
	list, err := s.keepMetadata(ctx, t.Batch.ID, data, formats, p.Limits.MaxRows)
	var fault *metadata.Error
	if errors.As(err, &fault) {
		return reason.Content(domain.CodeManifestInvalid, "%s", reason.Bounded(fault.Error()))
	}
	listing := domain.Listing{Rows: 1}
	if err == nil {
		err = s.keepManifest(ctx, t.Batch.ID, ".xml", data, &listing)
	}
	if err != nil {
		return err
	}
	return s.keepListing(ctx, t, domain.ListBatch{Listing: listing, MetadataRecords: &list})
}

// keepMetadata checks the records and keeps their results while they are made, so that the
// results of many take no memory.
func (s *steps) keepMetadata(ctx context.Context, b domain.BatchID, data []byte, formats []metadata.Format, most int) (list domain.MetadataRecords, err error) {
	results, w := io.Pipe()
	ended := make(chan struct{})
	var counts metadata.Counts
	go func() {
		defer close(ended)
		lines := json.NewEncoder(w)
		var err error
		counts, err = metadata.Check(bytes.NewReader(data), formats, metadata.Limits{MaxBytes: int64(len(data)), MaxRecords: most},
			func(r metadata.Record) error { return lines.Encode(r) })
		_ = w.CloseWithError(err) // it returns no other
	}()
	err = s.InTime(ctx, int64(len(data)), "keep the results of the records", string(b), func(ctx context.Context) error {
		kept, err := s.cfg.Objects.Put(ctx, report.MetadataKey(b), results)
		list.URL, list.SHA256 = store.URL(kept.Key), kept.SHA256
		return err
	})
	_ = results.CloseWithError(io.ErrClosedPipe) // else a store that stopped reading would keep the check waiting
	<-ended
	list.Success, list.Warning, list.Failure = counts.Success, counts.Warning, counts.Failure
	return list, err
}
