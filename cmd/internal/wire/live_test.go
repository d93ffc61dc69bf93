package wire

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/cmd/internal/ops"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
	"github.com/accession-ingest/accession/internal/testkit/tree"
)

// removedAfter removes a tree when the test is over.
func removedAfter(t testing.TB, root string) {
	t.Helper()
	t.Cleanup(func() {
		if err := tree.Destroy(context.WithoutCancel(t.Context()), []string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, root); err != nil {
			t.Errorf("remove the test's tree: %v", err)
		}
	})
}

// A claim that comes with the end of the state before is counted, and once.
func TestClaimsAreCountedOnce(t *testing.T) {
	t.Parallel()
	root := "/test-" + uuid.NewString()
	removedAfter(t, root)
	store, err := zklive.Open(t.Context(), zklive.Config{Servers: []string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	log := slog.New(slog.DiscardHandler)
	limits := eventstore.Limits{Warn: 1000, Full: 1000, Stop: 1000, Queue: 1000}
	unknown := func(context.Context, domain.Aggregate, int64) (string, error) { return "", nil }
	live := &LiveState{Store: store, written: unknown, metrics: ops.NewMetrics(), pressure: &eventstore.Pressure{Measure: store.Load, Limits: limits, Log: log}}
	k := storetest.NewKit(t, live)
	_, jobs := k.Started(5)
	k.Walk(jobs[0], domain.JobProvisioning)
	claim, _, err := live.NextJob(t.Context(), domain.JobProvisioning, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := storetest.Under(claim, false)
	o.Next = domain.JobDownloading
	next := k.DoJob(jobs[0], domain.ProvisionJob{}, o).Claim
	if next == nil {
		t.Fatal("the job was not handed over")
	}
	answer := httptest.NewRecorder()
	server := &ops.Server{Metrics: live.metrics, Health: ops.NewHealth(), Log: log}
	server.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	for _, want := range []string{`state="provisioning"} 1`, `state="downloading"} 1`} {
		if line := `accession_claims_total{aggregate="job",` + want + "\n"; !strings.Contains(answer.Body.String(), line) {
			t.Errorf("the metrics do not say %s", line)
		}
	}
}
