package operation

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain/access"
)

// TestRequestsAreCounted: one user cannot take the room of all, and a request that ends makes
// room.
func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const all, one = 12, 4
		r := atOnce{name: "lists", what: "ask", counted: "are answered", all: all, ofOne: one, wait: time.Minute}
		request, end := context.WithCancel(t.Context())
		defer end()
		first, endFirst := context.WithCancel(request)
		for n := range all {
			ctx := request
			if n == 0 {
				ctx = first
			}
			if err := r.enter(ctx, fmt.Sprint(n/one)); err != nil {
				t.Fatal(n, err)
			}
			if n == one-1 && r.enter(request, "0") == nil {
				t.Error("one user has more than its part")
			}
		}
		err := r.enter(request, "another")
		limit, _ := errors.AsType[*access.Exceeded](err)
		full, _ := errors.AsType[*app.Error](err)
		if limit == nil || full == nil || full.Kind != app.Full || full.RetryAfter != time.Minute || limit.Limit != (access.Limit{Name: "lists", Quota: one, Left: one, Reset: time.Minute}) {
			t.Errorf("one more than may be: %v", err)
		}
		endFirst()
		synctest.Wait()
		if err := r.enter(request, "another"); err != nil {
			t.Error(err)
		}
	})
}
