package bulk

import (
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app/bulk"
	"github.com/accession-ingest/accession/domain"
)

// TestView: a bulk action is shown while it waits, and when it has ended and some were refused.
func TestView(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := bulk.Action{ID: "0198", State: bulk.Waiting, By: "user/olga", Matched: new(int64(2)), RequestedAt: noon,
		Request: bulk.Request{Kind: domain.KindJob, Verb: "requeue", Filter: bulk.Filter{State: "failed", Code: "not_found", Since: noon}}}
	var b strings.Builder
	view(&b, now)
	for _, want := range []string{"0198", "waiting", "requeue of jobs", "state=failed, code=not_found, since=2026-03-01T12:00:00Z", "2 jobs"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "bulk items") {
		t.Errorf("nothing was refused:\n%s", b.String())
	}
	now.State, now.EndedAt, now.Matched, now.Refused = bulk.Done, &noon, nil, 1
	b.Reset()
	view(&b, now)
	for _, want := range []string{"more than 10,000 jobs", "accession bulk items 0198 --outcome refused"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// TestTowards: the flag --to is the new end of windows with the command open, and a priority with
// every other one.
func TestTowards(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb, to string
		fits     bool
		want     bulk.Request
	}{
		{"open", "", true, bulk.Request{}},
		{"open", "2026-03-01T12:00Z", true, bulk.Request{To: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}},
		{"open", "soon", false, bulk.Request{}},
		{"priority", "7", true, bulk.Request{Priority: new(7)}},
		{"priority", "high", false, bulk.Request{}},
	} {
		r := bulk.Request{Verb: c.verb}
		err := towards(&r, c.to)
		if (err == nil) != c.fits {
			t.Errorf("%s --to %s: %v", c.verb, c.to, err)
		}
		if c.fits && (!r.To.Equal(c.want.To) || (r.Priority == nil) != (c.want.Priority == nil) || r.Priority != nil && *r.Priority != *c.want.Priority) {
			t.Errorf("%s --to %s: %+v", c.verb, c.to, r)
		}
	}
}
