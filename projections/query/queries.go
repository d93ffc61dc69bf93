package query

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/projections/internal/fold"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// QueryRow is a row of accession.query.
type QueryRow = pgdb.AccessionQuery

// RequestOf returns what the query of a row asks.
func RequestOf(r QueryRow) asked.Request { return fold.RequestOf(r) }

// QueryFilter chooses queries; empty fields choose all.
type QueryFilter struct {
	Status    asked.State
	Submitter string
	Code      string // of the reason why it failed or is parked
	// Since and Until bound when they were received: not before, and before.
	Since, Until time.Time
	Before       domain.QueryID // only older ones: the last of the page before
	Limit        int            // at most, newest first (default 100)
}

// Queries lists queries, newest first.
func Queries(ctx context.Context, db Reader, f QueryFilter) ([]QueryRow, error) {
	rows, err := pgdb.New(db).Queries(ctx, pgdb.QueriesParams{Status: string(f.Status), Submitter: f.Submitter, Code: f.Code, Before: string(f.Before), Since: given(f.Since), Until: given(f.Until), MaxRows: atMost(f.Limit)})
	return rows, wrap("list queries", err)
}

// QueryByID returns one query, or ErrNotFound.
func QueryByID(ctx context.Context, db Reader, id domain.QueryID) (QueryRow, error) {
	row, err := pgdb.New(db).QueryByID(ctx, string(id))
	return row, wrap(string(id), err)
}
