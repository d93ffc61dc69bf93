package daemon

import (
	"crypto/rand"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/files"
)

// Each step of a job may be done by another process, whose memory of the job's
// files may be older than the step before.
func TestStepsOfAJobInSeveralProcesses(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := w.cfg
	other.Files = &files.Handler{Log: w.history, Clock: w.clock.Now, NewID: rand.Text}
	r, err := New(other)
	if err != nil {
		t.Fatal(err)
	}
	id := w.aJobIn(domain.JobEstimating)
	w.turn(domain.DaemonJobEstimating) // this process remembers the files as discovered
	w.turn(domain.DaemonJobProvisioning)
	first := w.r
	w.r = r
	w.turn(domain.DaemonJobDownloading)
	w.r = first
	w.turn(domain.DaemonJobProcessing)
	w.wantJob(id, domain.JobRecording, "")
}
