package daemon

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Profile is the profile of a collection.
type Profile = profile.Profile

// live is what steps may do with the live state: read it, and reserve ids.
type live interface {
	Batch(ctx context.Context, id domain.BatchID) (eventstore.Loaded[domain.Batch], error)
	Job(ctx context.Context, id domain.JobID) (eventstore.Loaded[domain.Job], error)
	BatchJobs(ctx context.Context, id domain.BatchID, sub domain.Sub) ([]domain.JobID, error)
	Holds(ctx context.Context) (eventstore.Holds, error)
	ReserveJobIDs(ctx context.Context, n int) (domain.JobID, error)
}

// steps holds what the steps of all daemons work with.
type steps struct {
	*places
	cfg   Config
	live  live
	space *space
}

func newSteps(cfg Config) *steps {
	return &steps{places: newPlaces(cfg), cfg: cfg, live: cfg.Handler.Live, space: newSpace(cfg)}
}
