//go:build !race

package e2e

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// TestJobsThatKill: a job whose step kills every process that tries fails after ten of them. Requeued
// it completes, and its file is not fetched again.
// Shows: P2 P5
func TestJobsThatKill(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, nil)
	var gets atomic.Int32
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			gets.Add(1)
		}
		_, _ = io.WriteString(w, "tides\n")
	}))
	batch, job := o.submit(app.Deposit{Payload: base + "/tides.txt", Type: domain.TypeFile}), domain.NewJobID(1)
	for range 10 {
		o.dies("daemon/processing/identify/before", nil, "serve")
		waitFor(t, "the lock of the dead process to end", func() bool {
			held, err := o.live.Locked(t.Context(), job.Aggregate())
			return err == nil && len(held) == 0
		})
	}
	s := o.serve()
	if v := o.rest(batch); v.Status != "failed" || len(v.Jobs) != 1 || deref(v.Jobs[0].ReasonCode) != string(domain.CodeClaimsUsedUp) || deref(v.Jobs[0].ReasonClass) != "system" {
		t.Errorf("%s with %+v", v.Status, v.Jobs)
	}
	before := gets.Load()
	o.says(0, words("job requeue --yes --reason mended "+string(job)), "failed", "processing")
	o.await("the end of "+string(job), 0, func(r domain.Recorded) bool {
		return r.Aggregate == job.Aggregate() && r.Type == domain.EventJobCompleted
	})
	o.still()
	s.stop()
	if after := gets.Load(); before != 1 || after != before {
		t.Errorf("the file was fetched %d times before the requeue, and %d in all", before, after)
	}
}
