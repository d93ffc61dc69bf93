package entries

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// OfFile returns the entries that stand for attempts at a file, newest first.
func OfFile(ctx context.Context, a *app.App, hash domain.FileHash) (all []query.FileEntry, err error) {
	defer app.Explained(&err, "list the entries of "+string(hash))
	db, err := a.Open.DB(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := query.EntriesOfFile(ctx, db, hash)
	for _, row := range rows {
		e := ofRow(row)
		all = append(all, query.FileEntry{ID: string(e.ID), Status: string(e.Status), Worker: e.Worker, Reason: e.Reason})
	}
	return all, err
}
