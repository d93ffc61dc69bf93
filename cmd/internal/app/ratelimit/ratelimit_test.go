package ratelimit

import (
	"net/http"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain/access"
)

// TestRateLimit: a second too few would have the client come back in vain.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit         access.Limit
		policy, state string
	}{
		{access.Limit{}, "", ""},
		{access.Limit{Name: "waiting-deposits", Quota: 10_000, Left: 17}, `"waiting-deposits";q=10000`, `"waiting-deposits";r=17`},
		{access.Limit{Name: "sign-in", Quota: 10, Window: time.Hour, Reset: 59*time.Second + 1}, `"sign-in";q=10;w=3600`, `"sign-in";r=0;t=60`},
	} {
		h := http.Header{}
		Set(h, c.limit)
		if h.Get("RateLimit-Policy") != c.policy || h.Get("RateLimit") != c.state {
			t.Errorf("%+v: %v", c.limit, h)
		}
	}
}
