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
	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/domain"
)

// makesSteps: a step of a job is requested once and has one result, and what no job waits for
// any more ends, whichever process died.
func makesSteps(o *crashInstallation, point string) {
	name := "s" + strings.ReplaceAll(uuid.NewString(), "-", "")
	s := o.depositWith(name, "steps: [{name: scan, dataset: "+name+"}]")
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

// depositWith submits a file under a profile of its own, which has some lines more.
func (o *crashInstallation) depositWith(name, more string) app.Submitted {
	o.t.Helper()
	o.n++
	file := filepath.Join(o.dir, name+".yaml")
	more = "callback: {url: " + o.base + "/callback}\n" + more + "\n"
	o.must(os.WriteFile(file, []byte(strings.ReplaceAll(profileOf("")+more, ": test\n", ": "+name+"\n")), 0o600))
	o.run("profile", "set", name, file, "--reason", "a test")
	s, err := o.app.Submit(o.ctx(), app.Deposit{Profile: name, Submitter: "tester", Payload: o.base + "/file?n=" + o.number(), Type: domain.TypeFile})
	o.must(err)
	return s
}

// leavesStates: the work of a state that is left to workers outside is requested once, and
// again after a hold, and has one result with which the job goes on, whichever process died.
func leavesStates(o *crashInstallation, point string) {
	s := o.depositWith("l"+strings.ReplaceAll(uuid.NewString(), "-", ""), "outside: [{state: pending}, {state: recording}]")
	var job string
	waits := func() {
		job = o.jobOf(s.Batch)
		o.stepIs(job, "_pending", 0, "PENDING")
		waitFor(o.t, job+" to be released", func() bool { return !o.nodeOf(job, "lock") })
	}
	read := strings.HasPrefix(point, "ownstep/result/read/")
	switch {
	case strings.HasPrefix(point, "ownstep/entry/again/"):
		first := o.serve()
		first.works()
		waits()
		o.run("job", "hold", job, "--reason", "wait")
		o.stepIs(job, "_pending", 0, "FAILED")
		first.stop()
		o.run("job", "release", job, "--reason", "go")
		o.dies(point, nil, "serve")
	case read:
		first := o.serve()
		first.works()
		waits()
		first.stop()
		o.completes(job, domain.JobPending)
		o.dies(point, nil, "serve")
	default:
		o.dies(point, nil, "serve")
	}
	next := o.serve()
	next.works()
	job = o.jobOf(s.Batch)
	if !read {
		o.completes(job, domain.JobPending)
	}
	o.completes(job, domain.JobRecording)
	waitFor(o.t, job+" to be completed", func() bool {
		return o.count("select count(*) from accession.job where id = $1 and status = 'completed'", job) == 1
	})
	next.stop()
	for what, query := range map[string]string{
		"tasks":      "select count(*) from report.job_step where job_id = $1",
		"results":    "select count(*) from accession.event e join report.job_step s on s.entry_id = e.aggregate_id where s.job_id = $1 and e.type = 'entry.completed'",
		"steps made": "select count(*) from accession.event where aggregate_id = $1 and type in ('job.accepted', 'job.recorded')",
	} {
		if n := o.count(query, job); n != 2 {
			o.t.Errorf("%s: %d %s, want 2", point, n, what)
		}
	}
}

// completes does the work of a state of a job, as a worker outside does.
func (o *crashInstallation) completes(job string, state domain.JobState) {
	o.t.Helper()
	at := leases.State{State: string(state)}
	claim := &leases.TaskClaim{State: at}
	claim.Body.Worker, claim.Body.Wait = "them", 60
	w, err := leases.TakeTask(o.ctx(), o.app, claim)
	o.must(err)
	if w.Job == nil || w.Job.ID != job {
		o.t.Fatalf("%s of %s is not to be had: %+v", state, job, w)
	}
	done := &leases.TaskDone{State: at, Done: leases.Done{Token: leases.Token{Token: w.Token}}}
	done.Body.Result = []byte("{}")
	_, err = leases.CompleteTask(o.ctx(), o.app, done)
	o.must(err)
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

// TestDeathInTasks: a process dies between the request of a task and the wait for it, after
// the task was done and before the job goes on, and while it requests it again after a hold.
// Shows: P1 P2 P5
func TestDeathInTasks(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, nil)
	o.finish(o.deposit("again"))
	for _, point := range []string{"ownstep/entry/request/after", "ownstep/entry/again/before", "ownstep/entry/again/after", "ownstep/result/read/before"} {
		leavesStates(o, point)
	}
	o.finish(o.deposit("again"))
	o.sound()
}
