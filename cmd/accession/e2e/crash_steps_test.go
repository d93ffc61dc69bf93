//go:build !race

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// makesSteps: a step of a job is requested once and has one result, and what no job waits for
// any more ends, whichever process died.
func makesSteps(o *crashInstallation, point string) {
	o.n++
	name := "s" + strings.ReplaceAll(uuid.NewString(), "-", "")
	file := filepath.Join(o.dir, name+".yaml")
	steps := "callback: {url: " + o.base + "/callback}\nsteps: [{name: scan, dataset: " + name + "}]\n"
	o.must(os.WriteFile(file, []byte(strings.ReplaceAll(profileOf("")+steps, ": test\n", ": "+name+"\n")), 0o600))
	o.run("profile", "set", name, file, "--reason", "a test")
	s, err := o.app.Submit(o.ctx(), app.Deposit{Profile: name, Submitter: "tester", Payload: o.base + "/file?n=" + o.number(), Type: domain.TypeFile})
	o.must(err)
	worker := o.command("compute", "worker", "--datasets", name, "--exec", "wc -c < {in} > {out}")
	ends := strings.HasPrefix(point, "compute/entry/strand/")
	switch {
	case ends:
		first := o.serve()
		first.works()
		job := o.jobOf(s.Batch)
		o.stepIs(job, "scan", 0, "PENDING")
		first.stop()
		o.run("job", "fail", job, "--reason", "enough")
	default:
		o.must(worker.Start())
	}
	o.dies(point, nil, "serve")
	next := o.serve()
	next.works()
	job := o.jobOf(s.Batch)
	status, entry := "completed", "SUCCESSFUL"
	if ends {
		status, entry = "failed", "FAILED"
	}
	waitFor(o.t, fmt.Sprintf("%s to be %s", job, status), func() bool {
		return o.count("select count(*) from accession.job where id = $1 and status = $2", job, status) == 1
	})
	o.stepIs(job, "scan", 0, entry)
	if !ends {
		_ = worker.Process.Signal(syscall.SIGTERM)
		_ = worker.Wait() // it was stopped
	}
	next.stop()
	if n := o.count("select count(*) from report.job_step where job_id = $1", job); n != 1 {
		o.t.Errorf("%s: %d entries", point, n)
	}
	if n := o.count("select count(*) from accession.event where aggregate_id = $1 and type in ('job.processed', 'job.failed')", job); n != 1 {
		o.t.Errorf("%s: the job went on %d times", point, n)
	}
	if n := o.count("select count(*) from record.object_file f join accession.job j on j.primary_identifier = f.primary_identifier where j.id = $1 and f.name = 'accession-steps.json'", job); !ends && n != 1 {
		o.t.Errorf("%s: %d files of results", point, n)
	}
}

// TestDeathInStepsOfJobs: a process dies between the request of a step and the wait for it,
// after the step was made and before the job goes on, while it stores, and while it ends
// what no job waits for.
// Shows: P1 P2 P5
func TestDeathInStepsOfJobs(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, nil)
	o.finish(o.deposit("again"))
	for _, point := range []string{"ownstep/entry/request/after", "ownstep/result/read/before", "daemon/processing/store/after", "compute/entry/strand/before"} {
		makesSteps(o, point)
	}
	o.finish(o.deposit("again"))
	o.sound()
}
