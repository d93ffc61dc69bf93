package daemon

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/daemon/report"
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
	list, err := report.CheckMetadata(ctx, s.Source, t.Batch.ID, data, formats, p.Limits.MaxRows)
	var fault *metadata.Error
	if errors.As(err, &fault) {
		return reason.Content(domain.CodeManifestInvalid, "%s", reason.Bounded(fault.Error()))
	}
	listing := domain.Listing{Rows: 1, Type: domain.TypeMetadata}
	if err == nil {
		err = s.keepManifest(ctx, t.Batch.ID, ".xml", data, &listing)
	}
	if err != nil {
		return err
	}
	return s.keepListing(ctx, t, domain.ListBatch{Listing: listing, MetadataRecords: &list})
}
