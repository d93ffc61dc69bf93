package e2e

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// TestTheOrderOfAStop stops a service in the middle of a download that does not
// end: what is said and done comes in order, the job is released and nothing of
// it is counted, not even the attempt at its file, which had begun.
// Shows: P18
func TestTheOrderOfAStop(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_ops=127.0.0.1:0", "stop_grace=200ms", "log_level=debug")
	asked := make(chan struct{})
	var first sync.Once
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hang := false
		if r.Method == http.MethodGet {
			first.Do(func() { hang = true; close(asked) })
		}
		if hang {
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte("tide\n"))
	}))
	s := in.serveInProcess()
	log, stop := s.log, s.stop
	id := in.submit(app.Deposit{Payload: base + "/tide.csv", Type: domain.TypeFile})
	<-asked
	in.seen(1, domain.EventBatchStarted) // the batch's own step ends within the grace time
	stop()
	text, at := log.String(), -1
	for _, line := range []string{
		`msg="stopping: no new claims"`,
		`msg="daemons still work after the grace time and are cut off; their work is released"`,
		`msg="cut off; the work is released"`,
		`msg="role stopped" role=daemons`, `msg="role stopped" role=follower`, `msg="role stopped" role=sweeper`,
		`msg="role stopped" role=relay`, `msg="role stopped" role=projector`,
		`msg=stopped`, `msg=closed server=postgres`, `msg=closed server=nats`, `msg=closed server=zookeeper`,
	} {
		i := strings.Index(text, line)
		if i <= at {
			t.Errorf("%s comes too early, or not at all", line)
		}
		at = i
	}
	if _, after, _ := strings.Cut(text, `msg="stopping`); strings.Contains(after, `msg=moved`) {
		t.Error("something moved after the stop")
	}
	if strings.Contains(text, "events wait in the outbox") {
		t.Error("the relay left something behind")
	}

	live, err := in.wired.LiveState(in.ctx())
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := live.BatchJobs(in.ctx(), id, domain.SubProcessing)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%v, %v", jobs, err)
	}
	c, job, err := live.ClaimJob(in.ctx(), jobs[0])
	if err != nil {
		t.Fatalf("its lock is not free: %v", err)
	}
	if c.Attempts != 1 || job.State.State != domain.JobDownloading || job.State.RetryCount != 0 {
		t.Errorf("claimed %d times, %+v", c.Attempts, job.State)
	}
	if err := live.Release(in.ctx(), c, 0); err != nil {
		t.Error(err)
	}
	in.serveInProcess()
	if v := in.rest(id); v.Status != string(domain.BatchCompleted) || len(v.Retries) != 0 {
		t.Errorf("%+v, retries %+v", v.BatchSummary, v.Retries)
	}
	files, err := in.app.Files(in.ctx(), app.FileFilter{Job: jobs[0], Limit: 10}, "", "")
	if err != nil || len(files.Items) != 1 || files.Items[0].DownloadAttempts != 1 {
		t.Errorf("%+v, %v", files, err)
	}
}

// TestStopWhileAServiceStarts: what the stop interrupts is no fault of the service.
// Shows: P18
func TestStopWhileAServiceStarts(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&run.Service{Config: in.cfg, Roles: run.AllRoles, Log: slog.New(slog.DiscardHandler)}).Run(ctx); err != nil {
		t.Errorf("a service that is stopped while it starts: %v", err)
	}
}
