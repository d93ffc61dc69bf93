package wire

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/daemon/originals"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/eventstore"
)

// Originals returns what removes the files and URLs that depositors sent long ago.
func (in *Installation) Originals(ctx context.Context) (*originals.Remover, error) {
	var live *LiveState
	var log eventstore.Log
	var objects *store.Store
	var records *record.Records
	var water consistency.HighWater
	err := openAll(ctx, into(&live, in.LiveState), into(&log, in.Log), into(&objects, in.Uploads), into(&records, in.Records), into(&water, in.HighWater))
	if err != nil {
		return nil, err
	}
	return &originals.Remover{Batches: live, Log: log, Objects: objects, URLs: records, Sound: water.Check,
		Retention: in.cfg.OriginalsRetention, Now: time.Now, Logger: in.log.With("role", "originals")}, nil
}
