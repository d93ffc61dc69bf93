package e2e

import (
	"encoding/json"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/cmd/internal/sweep"
	"github.com/accession-ingest/accession/domain/entry"
)

// TestSweepReturnsEntries: where no process has the role daemons, a sweep returns the work whose
// lease is overdue, and a second one has nothing left to do.
// Shows: P1
func TestSweepReturnsEntries(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	d, olga := in.doorOf(in.serveInProcess(run.RoleHTTP, run.RoleRelay, run.RoleProjector)), in.keyOf("olga", "operator", "--all")
	in.says(0, words("compute submit --dataset tides --input https://data.example.org/a.nc"))
	var w leases.Work
	d.ask(olga, "POST", "/v1/compute/claims", `{"worker":"node7","wait":20,"lease":5}`).into(d, &w)
	swept := func() (sum sweep.Summary) {
		t.Helper()
		in.must(json.Unmarshal([]byte(in.says(0, words("sweep -o json"))), &sum))
		return sum
	}
	if sum := swept(); len(sum.Entries) > 0 {
		t.Fatalf("a lease that lasts: %+v", sum)
	}
	waitFor(t, "the overdue lease to end", func() bool { return swept().Entries[entry.Pending] == 1 })
	if sum := swept(); len(sum.Entries) > 0 {
		t.Errorf("%+v", sum)
	}
	d.ask(olga, "POST", "/v1/compute/claims/"+w.Token+"/complete", `{"result":1}`).is(d, 409, "refused")
}
