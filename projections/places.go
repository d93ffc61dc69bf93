package projections

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// Stretch is a part of the log, both ends included.
type Stretch struct{ First, Last uint64 }

// Places tells where in the log events of a batch (its own, its jobs' and their
// files') or of a job (its own and its files') stand, as far as the projection has
// come: up to the place upTo, which it gives too. Places not more than gap apart
// are one stretch, which then holds other events as well.
func Places(ctx context.Context, db DB, of domain.Aggregate, gap int64) (list []Stretch, upTo uint64, err error) {
	q := pgdb.New(db)
	// Asked first: what the history gains meanwhile lies behind it.
	at, err := q.Checkpoint(ctx, defaultName)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, wrap("places of "+of.String(), err)
	}
	var rows []pgdb.BatchPlacesRow
	if of.Kind == domain.KindBatch {
		rows, err = q.BatchPlaces(ctx, pgdb.BatchPlacesParams{BatchID: of.ID, Gap: gap})
	} else {
		var ofJob []pgdb.JobPlacesRow
		ofJob, err = q.JobPlaces(ctx, pgdb.JobPlacesParams{JobID: of.ID, Gap: gap})
		for _, row := range ofJob {
			rows = append(rows, pgdb.BatchPlacesRow(row))
		}
	}
	upTo = uint64(at.Seq)
	for _, row := range rows {
		if uint64(row.First) <= upTo {
			list = append(list, Stretch{uint64(row.First), min(uint64(row.Last), upTo)})
		}
	}
	return list, upTo, wrap("places of "+of.String(), err)
}
