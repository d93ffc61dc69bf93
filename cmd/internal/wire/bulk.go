package wire

import (
	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/bulk"
)

// BulkActions returns what carries out commands about all that a filter selects.
func (in *Installation) BulkActions() *bulk.Runner {
	return &bulk.Runner{App: &app.App{Open: in.Resources()}, Log: in.log.With("role", "bulk")}
}
