package zklive

import (
	"context"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

// Earlier implements eventstore.Objects. The entries are in the order of the keys, and
// each key's in the order of the jobs, as the names are.
func (r *reader) Earlier(ctx context.Context, j domain.Job) (all []domain.JobID, err error) {
	for _, key := range j.Objects() {
		names, err := r.conn.List(ctx, r.root.ObjectDir(key))
		if err != nil {
			return nil, &eventstore.Error{Op: "list the jobs of the object of", Aggregate: j.ID.Aggregate(), Err: err}
		}
		for _, name := range names {
			if of, id, ok := layout.ParseObjectEntry(name); ok && of == key && id < j.ID {
				all = append(all, id)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
