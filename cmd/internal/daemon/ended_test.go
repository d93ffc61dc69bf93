package daemon

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// TestWhatNeverFits: a job that needs more working space than there is in all fails at
// once (J24), with a reason that says so, and the next one gets its space.
// Shows: P1 P16
func TestWhatNeverFits(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	total, err := w.cfg.Work.Total()
	if err != nil {
		t.Fatal(err)
	}
	w.web.on("/huge", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", fmt.Sprint(total+1))
	})
	id := w.jobIn(domain.JobProvisioning, domain.TypeFile, "/huge", func(s *domain.Submission) { s.FileName = "huge" })
	w.turn(domain.DaemonJobProvisioning)
	j := w.wantJob(id, domain.JobFailed, domain.CodeSpaceNever)
	if j.Reason.Class != domain.ClassContent || j.Reason.Worker == "" || j.Reason.Attempt != 1 {
		t.Errorf("%+v", j.Reason)
	}
	if b := w.batch(j.Configuration.BatchID); b.State != domain.BatchReporting {
		t.Errorf("its batch is %s", b.State)
	}
	w.jobIn(domain.JobDownloading, domain.TypeFile, "/small", func(s *domain.Submission) { s.FileName = "small" })
}

// TestFailedJobStopsItsStep: the step of a job that an operator fails is cancelled when
// the log says so, and the worker lets the job go.
// Shows: P16
func TestFailedJobStopsItsStep(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	asked, hangs := make(chan struct{}), make(chan struct{})
	defer close(hangs)
	w.web.on("/slow", unlessHead(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		select {
		case <-hangs:
		case <-r.Context().Done():
		}
	}))
	id := w.jobIn(domain.JobDownloading, domain.TypeFile, "/slow", func(s *domain.Submission) { s.FileName = "slow" })
	ended := make(chan struct{})
	go func() { defer close(ended); w.turn(domain.DaemonJobDownloading) }()
	<-asked
	why := domain.Reason{Class: domain.ClassCancelled, Code: domain.CodeCancelled, Message: "withdrawn"}
	res, err := w.h.Job(t.Context(), id, domain.CancelJob{Reason: why}, eventstore.Meta{Actor: "user/test"})
	if err != nil {
		t.Fatal(err)
	}
	w.r.Notice(res.Events[0])
	select {
	case <-ended:
	case <-t.Context().Done():
		t.Fatal("the step goes on")
	}
	w.wantJob(id, domain.JobFailed, domain.CodeCancelled)
	if locked, err := w.h.Live.Locked(t.Context(), id.Aggregate()); err != nil || len(locked) > 0 {
		t.Errorf("locked %v, %v", locked, err)
	}
}
