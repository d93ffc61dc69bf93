package consistency

import (
	"context"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
)

// restWait is how long [Compare] waits for what should be at rest.
const restWait = 2 * time.Second

// Compare names all differences of a system at rest, sorted; none means that the
// three servers agree. The error is one of reading.
func Compare(ctx context.Context, live eventstore.Live, log eventstore.Log, db projections.DB) ([]Finding, error) {
	l, ok := live.(Live)
	if !ok {
		return nil, fmt.Errorf("%T cannot be inspected", live)
	}
	r, err := Verify(ctx, Config{Live: l, Log: log, DB: db, Wait: restWait})
	return r.Findings, err
}
