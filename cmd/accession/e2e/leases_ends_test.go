package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/cmd/internal/run"
)

// TestTwoEndsOfALease: two processes are told at once that the work of one lease is completed,
// with different results: one is accepted, and its result is what is kept.
// Shows: P5
func TestTwoEndsOfALease(t *testing.T) {
	t.Parallel()
	const rounds = 24
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	olga := in.keyOf("olga", "operator", "--all")
	doors := []*door{in.doorOf(in.serveInProcess(run.RoleHTTP)), in.doorOf(in.serveInProcess(run.RoleHTTP, run.RoleRelay, run.RoleProjector))}
	accepted := map[string]string{} // the results
	for n := range rounds {
		var w leases.Work
		doors[0].ask(olga, "POST", "/v1/compute/entries", fmt.Sprintf(`{"dataset":"tides","key":"%d","inputs":["https://data.example.org/a.nc"]}`, n))
		doors[n%2].ask(olga, "POST", "/v1/compute/claims", `{"worker":"node7","wait":20,"lease":600}`).into(doors[0], &w)
		if w.Token == "" {
			t.Fatalf("%+v", w)
		}
		answers := make([]answer, len(doors))
		var ending sync.WaitGroup
		for i, d := range doors {
			ending.Go(func() {
				answers[i] = d.ask(olga, "POST", "/v1/compute/claims/"+w.Token+"/complete", fmt.Sprintf(`{"result":{"by":%d}}`, i))
			})
		}
		ending.Wait()
		for i, a := range answers {
			switch {
			case a.status == http.StatusOK && accepted[w.Entry] == "":
				accepted[w.Entry] = fmt.Sprintf(`{"by": %d}`, i)
			case a.status != http.StatusConflict:
				t.Errorf("%s: the end by %d is answered with %d %s", w.Entry, i, a.status, a.body)
			}
		}
	}
	waitFor(t, "the results", func() bool {
		return in.count("select count(*) from accession.compute_entry where status = 'SUCCESSFUL'") == rounds
	})
	for id, result := range accepted {
		if n := in.count("select count(*) from accession.compute_entry e join record.compute_result r on r.entry_id = e.id and r.sha256 = e.result_sha256 where e.id = $1 and r.result = $2::jsonb", id, result); n != 1 {
			t.Errorf("%s: the result %s is kept %d times", id, result, n)
		}
	}
	in.says(0, words("verify"))
}
