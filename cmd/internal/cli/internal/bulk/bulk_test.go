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
