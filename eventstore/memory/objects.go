package memory

import (
	"context"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

var _ eventstore.Objects = (*Store)(nil)

// JobsOfObject implements eventstore.Objects.
func (s *Store) JobsOfObject(ctx context.Context, j domain.Job) (all []domain.JobID, err error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	for id, r := range s.server.jobs {
		if id != j.ID && r.state.SameObject(j) {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all, ctx.Err()
}

// RunningBatches implements eventstore.Objects.
func (s *Store) RunningBatches(ctx context.Context, submitter string) (all []domain.BatchID, err error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	for id, r := range s.server.batches {
		if r.state.Runs() && r.state.Submission.Submitter == submitter {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all, ctx.Err()
}
