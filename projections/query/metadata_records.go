package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// MetadataRecords returns the counts of the records of a metadata deposit and where the list of
// them is, nil for any other batch and one that was not listed yet.
func MetadataRecords(ctx context.Context, db Reader, id domain.BatchID) (*domain.MetadataRecords, error) {
	data, err := pgdb.New(db).ListedMetadataRecords(ctx, string(id))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, wrap("records of "+string(id), err)
	}
	var list domain.MetadataRecords
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("records of %s: %w", id, err)
	}
	return &list, nil
}

// MetadataRecords is the function MetadataRecords as of then.
func (p *Past) MetadataRecords(id domain.BatchID) *domain.MetadataRecords { return p.metadata[id] }
