package version

import (
	"context"
	"encoding/json"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
)

// Storing has the versions that are reserved for jobs, and what was stored as such; *record.Records
// is one.
type Storing interface {
	ReserveVersion(ctx context.Context, job domain.JobID, primary string) (version int, err error)
	BeginEffect(ctx context.Context, key, kind string) (record.Effect, error)
}

// Stored returns what processing stored for a job.
func Stored(ctx context.Context, records Storing, j domain.Job) (o domain.StoredObject, err error) {
	version, err := records.ReserveVersion(ctx, j.ID, j.Identifiers.Primary)
	if err != nil {
		return o, err
	}
	storing, err := records.BeginEffect(ctx, record.StoreKey(j.ID, version), record.EffectStore)
	if err != nil {
		return o, err
	}
	if !storing.Done {
		return o, reason.System(reason.CodeStorage, "version %d of %s is not known to be stored; the records may have been restored from an old copy", version, j.Identifiers.Primary)
	}
	return StoredBy(storing)
}

// StoredBy returns the object of a finished effect.
func StoredBy(storing record.Effect) (o domain.StoredObject, err error) {
	if err := json.Unmarshal(storing.Result, &o); err != nil {
		return o, reason.System(reason.CodeStorage, "the record of what was stored cannot be read: %v", err)
	}
	return o, nil
}
