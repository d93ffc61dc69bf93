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

// leftOutPrefix returns the prefix of the keys under which the names of left-out files
// of a batch are stored.
func leftOutPrefix(b domain.BatchID) string { return "left-out/" + string(b) + "/" }

// KeepLeftOut stores the names of the files that are left out of the object, for the
// report. An earlier attempt may have left out others.
func KeepLeftOut(ctx context.Context, objects *store.Store, j domain.Job, names []string) error {
	key := leftOutPrefix(j.Configuration.BatchID) + string(j.ID) + ".json"
	if names == nil {
		if j.RetryCount == 0 {
			return nil
		}
		return objects.Delete(ctx, key)
	}
	data, err := json.Marshal(names)
	if err == nil {
		_, err = objects.Put(ctx, key, bytes.NewReader(data))
	}
	return err
}

// LeftOut returns the names of the files that were left out of the objects of a batch,
// by job.
func LeftOut(ctx context.Context, from *payload.Source, b domain.BatchID) (map[string][]string, error) {
	all, err := from.Lists(ctx, leftOutPrefix(b))
	if err != nil {
		return nil, fmt.Errorf("the files left out: %w", err)
	}
	return all, nil
}
