package query

import (
	"context"
	"fmt"

	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// What may be wrong with a row of the records.
const (
	FaultMissing = "missing"
	FaultWrong   = "wrong"
	FaultUnknown = "unknown" // the tables do not have what it is about
)

// ResultFault is a result of an entry that the records lack, or have otherwise than the tables.
type ResultFault = pgdb.BrokenResultsRow

// ListingFault is a file of an open directory whose row the records lack, or have otherwise than
// the tables.
type ListingFault = pgdb.BrokenListingsRow

// Results returns what is wrong with the results of the compute queue in the records, a few of
// each fault.
func (t Tables) Results(ctx context.Context) ([]ResultFault, error) {
	rows, err := pgdb.New(t.DB).BrokenResults(ctx)
	if err != nil {
		return nil, fmt.Errorf("compare the results of the compute queue: %w", err)
	}
	return rows, nil
}

// Listings returns what is wrong with the listings of open directories in the records, a few of
// each fault.
func (t Tables) Listings(ctx context.Context) ([]ListingFault, error) {
	rows, err := pgdb.New(t.DB).BrokenListings(ctx)
	if err != nil {
		return nil, fmt.Errorf("compare the listings of open directories: %w", err)
	}
	return rows, nil
}
