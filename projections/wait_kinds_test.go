package projections_test

import (
	"context"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// TestEveryKindIsWaitedFor: who has changed an aggregate, of whatever kind, can wait until the
// tables show it.
func TestEveryKindIsWaitedFor(t *testing.T) {
	t.Parallel()
	db := granted(t)
	w := installation(t)
	if err := run(t, config(db, w.log)); err != nil {
		t.Fatal(err)
	}
	last := map[domain.Kind]domain.Recorded{}
	for _, r := range w.log {
		last[r.Aggregate.Kind] = r
	}
	waiter := query.NewWaiter(db)
	for _, r := range last {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := waiter.For(ctx, r.Aggregate, r.Version); err != nil {
			t.Error(err)
		}
		cancel()
	}
	for _, d := range domain.Registry {
		if _, ok := last[d.Kind]; !ok {
			t.Errorf("the history has no %s", d.Kind)
		}
	}
}
