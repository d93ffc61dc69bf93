package bulk

import (
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// TestConditionsOfKinds: a condition that things of a kind do not have is refused, and so is a
// state of another kind.
func TestConditionsOfKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind domain.Kind
		fits bool
		of   Filter
	}{
		{domain.KindBatch, true, Filter{State: "failed", Profile: "maps"}},
		{domain.KindBatch, false, Filter{Batch: "bid0000000001"}},
		{domain.KindJob, true, Filter{Batch: "bid0000000001", Host: "data.example.org"}},
		{domain.KindJob, false, Filter{Job: "jid0000000001"}},
		{domain.KindJob, false, Filter{Dataset: "tides"}},
		{domain.KindFile, true, Filter{Job: "jid0000000001", Name: "a.nc"}},
		{domain.KindFile, true, Filter{Dataset: "tides"}},
		{domain.KindEntry, true, Filter{Dataset: "tides", State: "FAILED", Collection: "maps", Host: "data.example.org"}},
		{domain.KindEntry, false, Filter{State: "failed"}},
		{domain.KindEntry, false, Filter{Name: "a.nc"}},
		{domain.KindQuery, true, Filter{State: "received", Submitter: "ana", Code: "cancelled"}},
		{domain.KindQuery, false, Filter{Collection: "maps"}},
		{domain.KindQuery, false, Filter{Profile: "maps"}},
		{domain.KindQuery, false, Filter{Host: "data.example.org"}},
		{domain.KindQuery, false, Filter{}},
		{KindDrop, true, Filter{State: "refused", Profile: "maps", Collection: "maps", Submitter: "ana"}},
		{KindDrop, false, Filter{State: "removed"}},
		{KindDrop, false, Filter{Code: "checksum"}},
		{KindDrop, false, Filter{Host: "data.example.org"}},
		{KindDrop, false, Filter{Batch: "bid0000000001"}},
	} {
		if err := c.of.check(c.kind); (err == nil) != c.fits {
			t.Errorf("%s %+v: %v", c.kind, c.of, err)
		}
	}
}
