package zklive

import (
	"context"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

// JobsOfObject implements eventstore.Objects.
func (r *reader) JobsOfObject(ctx context.Context, j domain.Job) (all []domain.JobID, err error) {
	for _, key := range j.Objects() {
		names, err := r.conn.List(ctx, r.root.ObjectDir(key))
		if err != nil {
			return nil, &eventstore.Error{Op: "list the jobs of the object of", Aggregate: j.ID.Aggregate(), Err: err}
		}
		for _, name := range names {
			if of, id, ok := layout.ParseObjectEntry(name); ok && of == key && id != j.ID {
				all = append(all, id)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// RunningBatches implements eventstore.Objects.
func (r *reader) RunningBatches(ctx context.Context, submitter string) (all []domain.BatchID, err error) {
	for _, dir := range []string{r.root.Running(fair.QueueMetadata, submitter), r.root.Pool(fair.QueueMetadata)} {
		ids, err := r.conn.List(ctx, dir)
		if err != nil {
			return nil, &eventstore.Error{Op: "list the running batches of " + submitter, Err: err}
		}
		for _, id := range ids {
			all = append(all, domain.BatchID(id))
		}
	}
	slices.Sort(all)
	return all, nil
}
