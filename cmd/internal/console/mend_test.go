package console

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// TestPagesSayHowToMend: what failed has how it is mended, for depositors too; a list that is cut off
// says so and leads to the whole; a bulk action leads to what it selects.
func TestPagesSayHowToMend(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("a name")}
	a.answers["/v1/bulk-actions/b1"] = map[string]any{"id": "b1", "state": "done", "request": map[string]any{"kind": "job", "verb": "requeue", "filter": map[string]any{"state": "failed", "collection": "a b"}}}
	for role, wants := range map[access.Role]map[string][]string{
		access.Depositor: {
			"":                      {"more batches have failed", "/console/batches?state=failed", "These are the newest.", "/console/batches?since="},
			"batches/bid0000000001": {"compare the file with what the deposit says of it", "to come"},
			"jobs/jid0000000001":    {"an operator repairs what the reason names"},
			"failures":              {"an operator repairs what the reason names"},
		},
		access.Operator: {"bulk/b1": {"/console/jobs?collection=a&#43;b&amp;state=failed"}},
	} {
		h := opened(t, &told{answers: maps.Clone(a.answers)}, role)
		for path, wants := range wants {
			text := visited(h, http.MethodGet, Path+path, nil).Body.String()
			for _, want := range wants {
				if !strings.Contains(text, want) {
					t.Errorf("%s: the page %s has no %q", role, path, want)
				}
			}
		}
	}
}

// TestWalkOfBatch: a batch was in a state until its next one, and in the last until now unless it rests.
func TestWalkOfBatch(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
	var life []happened
	from := ""
	for i, to := range []domain.BatchState{domain.BatchPending, domain.BatchPending, domain.BatchProcessing, domain.BatchReporting, domain.BatchFailed, domain.BatchUpdateReporting} {
		life = append(life, happened{Event: app.Event{Stored: begin.Add(time.Duration(i) * time.Minute)}, from: from, to: string(to)})
		from = string(to)
	}
	walk := func(n int, until time.Duration) string {
		var b strings.Builder
		for _, p := range walkOfBatch(life[:n], begin.Add(until)).Parts {
			b.WriteString(p.Name + " " + p.Text + ", ")
		}
		return b.String()
	}
	if got := walk(5, 10*time.Minute); got != "pending 2 min 0 s, processing 1 min 0 s, reporting 1 min 0 s, " {
		t.Errorf("%q", got)
	}
	if got := walk(2, 10*time.Minute); got != "pending 10 min 0 s, " {
		t.Errorf("%q", got)
	}
	// As of the moment at which it went on it has rested, and is in the next state for no time.
	if got := walk(6, 5*time.Minute); got != "pending 2 min 0 s, processing 1 min 0 s, reporting 1 min 0 s, failed 1 min 0 s, update-reporting 0.0 s, " {
		t.Errorf("%q", got)
	}
}
