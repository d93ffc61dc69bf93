package query

import (
	"context"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// Owner says whose a batch, job, file, query or entry is.
type Owner struct {
	Submitter  string
	Collection string // "" = not known
	Version    int64  // of the batch, job or file, as the tables have it
	Profile    string // "" = not known
}

// OwnerOf returns whose a batch, job, file, query or entry is, or ErrNotFound.
func OwnerOf(ctx context.Context, db Reader, a domain.Aggregate) (o Owner, err error) {
	q := pgdb.New(db)
	switch a.Kind {
	case domain.KindBatch:
		row, e := q.OwnerOfBatch(ctx, a.ID)
		o, err = Owner(row), e
	case domain.KindJob:
		row, e := q.OwnerOfJob(ctx, a.ID)
		o, err = Owner(row), e
	case domain.KindFile:
		row, e := q.OwnerOfFile(ctx, a.ID)
		o, err = Owner(row), e
	case domain.KindQuery:
		row, e := q.OwnerOfQuery(ctx, a.ID)
		o, err = Owner(row), e
	case domain.KindEntry:
		row, e := q.OwnerOfEntry(ctx, a.ID)
		o, err = Owner(row), e
	default:
		err = ErrNotFound
	}
	return o, wrap(a.String(), err)
}

// EventsOfCommand returns the types of the events of an aggregate that a command caused, in
// order.
func EventsOfCommand(ctx context.Context, db Reader, a domain.Aggregate, command string) ([]domain.EventType, error) {
	rows, err := pgdb.New(db).EventsOfCommand(ctx, pgdb.EventsOfCommandParams{AggregateID: a.ID, Kind: string(a.Kind), CommandID: command})
	types := make([]domain.EventType, len(rows))
	for i, t := range rows {
		types[i] = domain.EventType(t)
	}
	return types, wrap(a.String(), err)
}
