package bulk

import (
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// TestConditionsOfKinds: a condition that things of a kind do not have is refused, and so is a
// state of another kind.
func TestConditionsOfKinds(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
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
		{domain.KindSlot, true, Filter{Dataset: "tides", State: "DONE", Code: "requested", Profile: "maps", Collection: "maps", Since: noon, OlderThan: noon}},
		{domain.KindSlot, false, Filter{State: "done"}},
		{domain.KindSlot, false, Filter{Submitter: "ana"}},
		{domain.KindSlot, false, Filter{Host: "data.example.org"}},
		{KindDiscover, true, Filter{Dataset: "tides", State: "paused", Host: "data.example.org", Profile: "maps", Collection: "maps"}},
		{KindDiscover, false, Filter{State: "PAUSED"}},
		{KindDiscover, false, Filter{Submitter: "ana"}},
		{KindDiscover, false, Filter{Code: "requested"}},
		{KindDiscover, false, Filter{Dataset: "tides", Since: noon}},
		{KindDiscover, false, Filter{Dataset: "tides", OlderThan: noon}},
		{KindDiscover, false, Filter{}},
	} {
		if err := c.of.check(c.kind); (err == nil) != c.fits {
			t.Errorf("%s %+v: %v", c.kind, c.of, err)
		}
	}
}

// TestNewEndOfWindows: a new end of windows fits the command open alone, and is kept with the
// request.
func TestNewEndOfWindows(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	r := Request{Kind: domain.KindSlot, Verb: "open", Filter: Filter{Dataset: "nights"}, To: noon, Reason: "stars"}
	if v, err := find(r); err != nil || !v.Window {
		t.Errorf("%+v, %v", v, err)
	}
	row, err := rowOf(&app.App{Actor: "user/olga"}, r, Requester{})
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := actionOf(row); err != nil || kept.Request != r {
		t.Errorf("%+v, %v, want %+v", kept.Request, err, r)
	}
	r.Verb = "close"
	if _, err := find(r); err == nil {
		t.Error("a command that ends slots takes a new end of their windows")
	}
}
