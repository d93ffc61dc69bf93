package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// TestVersionsFollowTheOrderOfDeposits: of two deposits of one object the first one's
// manifest is not answered until the jobs of the second wait for it; the versions are in the
// order of the deposits and of their rows all the same. A deposit of another object, of the
// same submitter and without a name, waits for nothing.
// Shows: P17
func TestVersionsFollowTheOrderOfDeposits(t *testing.T) {
	t.Parallel()
	in := newPatient(t)
	asked, answer := make(chan struct{}, 100), make(chan struct{})
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, isManifest := strings.CutSuffix(r.URL.Path, ".checkm")
		if !isManifest {
			_, _ = fmt.Fprintln(w, r.URL.Path)
			return
		}
		if name == "/first" {
			asked <- struct{}{}
			select {
			case <-answer:
			case <-r.Context().Done():
			}
		}
		_, _ = w.Write(checkm("mrt-single-file-batch-manifest", batchColumns,
			fmt.Sprintf("http://%s%s/1 | | | | | a.txt | | tide | Ana | A tide | 2026", r.Host, name),
			fmt.Sprintf("http://%s%s/2 | | | | | a.txt | | tide | Ana | A tide | 2026", r.Host, name)))
	}))
	in.serveInProcess()
	deposit := func(path string, of domain.SubmissionType) domain.BatchID {
		return in.submit(app.Deposit{Payload: base + path, Type: of})
	}
	first := deposit("/first.checkm", domain.TypeFileBatchManifest)
	<-asked
	second, other := deposit("/second.checkm", domain.TypeFileBatchManifest), deposit("/other.txt", domain.TypeFile)
	if v := in.rest(other); v.JobsCompleted != 1 {
		t.Errorf("a deposit without a name: %+v", v)
	}
	for _, r := range in.seenOf(second, 2, domain.EventJobWaiting, domain.EventJobCompleted) {
		m, _ := domain.MoveOfJob(r.Data)
		if why := m.Reason; why == nil || why.Code != domain.CodeObjectLocked || !strings.Contains(why.Message, string(first)) {
			t.Errorf("%s of %s: %+v", r.Type, r.Aggregate.ID, why)
		}
	}
	close(answer)
	for i, id := range []domain.BatchID{first, second} {
		v := in.rest(id)
		if v.JobsCompleted != 2 {
			t.Fatalf("deposit %d: %+v", i+1, v)
		}
		in.shown()
		for row, job := range v.Jobs {
			if n := in.count("select version from report.inventory where job_id = $1", job.ID); n != 2*i+row+1 {
				t.Errorf("row %d of deposit %d is version %d", row+1, i+1, n)
			}
		}
	}
}
