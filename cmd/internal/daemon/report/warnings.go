package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// OfBatch is the name of the warnings about the manifest of a batch; those about the
// manifest of one object have the id of its job.
const OfBatch = "batch"

// warningsPrefix returns the prefix of the keys of a batch's warnings.
func warningsPrefix(b domain.BatchID) string { return "warnings/" + string(b) + "/" }

// KeepWarnings keeps what was not taken as it is written in a manifest of a batch, for
// its reports.
func KeepWarnings(ctx context.Context, objects *store.Store, b domain.BatchID, of string, warnings []string) error {
	data, err := json.Marshal(warnings)
	if err == nil {
		_, err = objects.Put(ctx, warningsPrefix(b)+of+".json", bytes.NewReader(data))
	}
	return err
}

// Warnings returns the warnings about the manifests of a batch, by what they are of.
func Warnings(ctx context.Context, from *payload.Source, b domain.BatchID) (map[string][]string, error) {
	all, err := from.Lists(ctx, warningsPrefix(b))
	if err != nil {
		return nil, fmt.Errorf("the warnings of %s: %w", b, err)
	}
	return all, nil
}
