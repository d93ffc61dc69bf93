package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

const leftOutside = "outside: [{state: pending}, {state: estimating, priority: 200}, {state: provisioning}, {state: recording}, {state: notify}]\nsteps: [{name: virusscan}]\npriority: {unknown_size: 30}\nfetch:"

// profileOfTasks makes a profile, and collection, named tasks that leaves states of jobs to workers
// outside. No service may run yet.
func (in *installation) profileOfTasks(outside string) {
	in.t.Helper()
	text := strings.ReplaceAll(profileOf(""), ": test\n", ": tasks\n") + "outside: [" + outside + "]\n"
	in.must(os.WriteFile(filepath.Join(filepath.Dir(in.profileFile()), "tasks.yaml"), []byte(text), 0o600))
}

// outsiders is an installation whose profile leaves states of jobs to workers outside.
type outsiders struct {
	*installation
	d    *door
	olga string
	base string
}

func newOutsiders(t *testing.T) (*outsiders, *service) {
	t.Helper()
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	in.editProfile("fetch:", leftOutside)
	mux := http.NewServeMux()
	for path, text := range map[string]string{"/a.txt": "a\n", "/b.txt": "bb\n",
		"/object.checkm": fmt.Sprintf(manifestOf, "mrt-ingest-manifest") + "http://HOST/a.txt | | | | | part/a.txt\nhttp://HOST/b.txt | | | | | b.txt\n#%eof\n"} {
		mux.HandleFunc(path, func(rw http.ResponseWriter, r *http.Request) {
			_, _ = rw.Write([]byte(strings.ReplaceAll(text, "HOST", r.Host)))
		})
	}
	base := webServer(t, mux)
	s := in.serveInProcess(run.RoleHTTP, run.RoleDaemons, run.RoleRelay, run.RoleProjector)
	return &outsiders{installation: in, d: in.doorOf(s), olga: in.keyOf("olga", "operator", "--all"), base: base}, s
}

func (o *outsiders) deposit() (domain.BatchID, string) {
	id := o.submit(app.Deposit{Payload: o.base + "/object.checkm", Type: domain.TypeObjectManifest})
	return id, o.jobOf(id)
}

// claim asks for the work of a state, under a lease of so many seconds.
func (o *outsiders) claim(state string, wait, lease int) (w leases.Work) {
	o.t.Helper()
	o.d.ask(o.olga, "POST", "/v1/tasks/"+state+"/claims", fmt.Sprintf(`{"worker":"node7","wait":%d,"lease":%d}`, wait, lease)).into(o.d, &w)
	return w
}

// take takes the work of a state of a job.
func (o *outsiders) take(state, job string) leases.Work {
	o.t.Helper()
	return o.takeFor(state, job, 3600)
}

func (o *outsiders) takeFor(state, job string, lease int) (w leases.Work) {
	o.t.Helper()
	waitFor(o.t, "the work of "+state, func() bool {
		w = o.claim(state, 60, lease)
		return w.Token != ""
	})
	if w.Job == nil || w.Job.ID != job || w.Job.Status != state || w.Dataset != "job-state/"+state {
		o.t.Fatalf("%s: %+v, %+v", state, w, w.Job)
	}
	return w
}

// send sends a request under the lease of a task, and compares the status and a text of the answer.
func (o *outsiders) send(state string, w leases.Work, verb, body string, status int, text string) {
	o.t.Helper()
	if a := o.d.ask(o.olga, "POST", "/v1/tasks/"+state+"/claims/"+w.Token+"/"+verb, body); a.status != status || !strings.Contains(a.body, text) {
		o.t.Fatalf("%s of %s: %d %s, want %d %q", verb, state, a.status, a.body, status, text)
	}
}

func (o *outsiders) done(state, job, result string) leases.Work {
	o.t.Helper()
	w := o.take(state, job)
	o.send(state, w, "complete", `{"result":`+result+`}`, http.StatusOK, "SUCCESSFUL")
	return w
}

// TestJobThroughTasks: workers outside do the work of each state that the profile leaves to
// them, over HTTP alone; one dies, comes back late and is refused; results that are none and
// tokens of other work are refused; each event of the job comes after that of its worker.
func TestJobThroughTasks(t *testing.T) {
	t.Parallel()
	o, _ := newOutsiders(t)
	ana := o.keyOf("ana", "depositor", "--all")
	id, job := o.deposit()

	// A worker of the compute queue gets no task.
	o.stepIs(job, "_pending", 0, "PENDING")
	if a := o.d.ask(o.olga, "POST", "/v1/compute/claims", `{"worker":"node1"}`); a.status != http.StatusOK || strings.Contains(a.body, "token") {
		t.Errorf("%d %s", a.status, a.body)
	}
	o.d.ask(ana, "POST", "/v1/tasks/pending/claims", `{"worker":"node7"}`).is(o.d, http.StatusForbidden, "forbidden")
	o.d.ask("", "POST", "/v1/tasks/pending/claims", `{"worker":"node7"}`).is(o.d, http.StatusUnauthorized, "unauthenticated")
	if a := o.d.ask(o.olga, "POST", "/v1/tasks/downloading/claims", `{"worker":"node7"}`); a.status != http.StatusBadRequest {
		t.Errorf("%d %s", a.status, a.body)
	}
	o.says(2, words("compute submit --dataset job-state/pending --input https://data.example.org/a"), "job-state/")
	waitFor(t, job+" to be released", func() bool { return !o.nodeOf(job, "lock") })
	w := o.done("pending", job, `{}`)
	if len(w.Inputs) > 0 || w.Job.Batch != string(id) || w.Job.Profile != "test" || w.Job.PayloadURL != o.base+"/object.checkm" {
		t.Errorf("%+v, %+v", w, w.Job)
	}

	// Of two workers one gets it; it falls silent, and the other gets it.
	w = o.takeFor("estimating", job, 10)
	if other := o.claim("estimating", 0, 10); other.Token != "" || w.Priority != 200 {
		t.Errorf("%+v beside %+v", other, w)
	}
	o.send("estimating", w, "heartbeat", "", http.StatusOK, "STAGING")
	o.send("recording", w, "heartbeat", "", http.StatusNotFound, "no work of the state")
	o.send("recording", w, "complete", `{"result":{}}`, http.StatusNotFound, "no work of the state")
	o.send("recording", w, "fail", `{"class":"system","message":"no"}`, http.StatusNotFound, "no work of the state")
	if a := o.d.ask(o.olga, "PUT", "/v1/tasks/recording/claims/"+w.Token+"/outputs/a.log", "a\n", "Content-Type: application/octet-stream"); a.status != http.StatusNotFound {
		t.Errorf("an output of other work: %d %s", a.status, a.body)
	}
	second := o.take("estimating", job)
	if second.Entry != w.Entry || second.Attempt != 2 {
		t.Errorf("%+v after %+v", second, w)
	}
	for verb, body := range map[string]string{"heartbeat": "", "complete": `{"result":{"files":9,"bytes":9}}`, "fail": `{"class":"system","message":"late"}`} {
		o.send("estimating", w, verb, body, http.StatusConflict, "lease")
	}
	o.send("estimating", second, "complete", `{"result":{}}`, http.StatusBadRequest, "no files or no bytes")
	if a := o.d.ask(o.olga, "POST", "/v1/compute/claims/"+second.Token+"/complete", `{"result":{"files":2,"bytes":-1}}`); a.status != http.StatusBadRequest {
		t.Errorf("a negative size: %d %s", a.status, a.body)
	}
	if a := o.d.ask(o.olga, "PUT", "/v1/tasks/estimating/claims/"+second.Token+"/outputs/a.log", "a\n", "Content-Type: application/octet-stream"); a.status != http.StatusOK {
		t.Errorf("an output: %d %s", a.status, a.body)
	}
	estimate := `{"result":{"files":2,"bytes":5,"space":7,"priority":9}}`
	o.send("estimating", second, "complete", estimate, http.StatusOK, "SUCCESSFUL")
	o.send("estimating", second, "complete", estimate, http.StatusOK, "SUCCESSFUL")
	o.send("estimating", second, "complete", `{"result":{"files":2,"bytes":6}}`, http.StatusConflict, "")

	o.done("provisioning", job, `{"place":"left"}`)
	o.shown()
	if n := o.count("select count(*) from accession.event where aggregate_id = $1 and type = 'job.estimated' and (data ->> 'priority')::int = 9 and (data ->> 'space_needed')::int = 7 and (data ->> 'files')::int = 2", job); n != 1 {
		t.Errorf("%d events have the estimate", n)
	}
	w = o.take("processing", job)
	if len(w.Inputs) != 2 {
		t.Fatalf("%+v", w)
	}
	if a := o.d.ask("", "GET", w.Inputs[1].URL, ""); a.body != "bb\n" {
		t.Errorf("%d %s", a.status, a.body)
	}
	o.send("processing", w, "complete", `{"result":"clean"}`, http.StatusOK, "SUCCESSFUL")
	w = o.take("recording", job)
	if w.Job.Primary == "" {
		t.Errorf("%+v", w.Job)
	}
	o.send("recording", w, "complete", `{"result":"kept"}`, http.StatusBadRequest, "no JSON object")
	o.send("recording", w, "complete", `{"result":{"catalogue":"x17"}}`, http.StatusOK, "SUCCESSFUL")
	o.done("notify", job, `{}`)
	v := o.rest(id)
	if v.Status != "completed" || len(v.Jobs) != 1 {
		t.Fatalf("%+v", v)
	}
	o.holds(v.Jobs[0], map[string]string{"part/a.txt": "a\n", "b.txt": "bb\n"})
	o.shown()
	for step, event := range map[string]string{"_pending": "job.accepted", "_estimating": "job.estimated", "_provisioning": "job.provisioned", "virusscan": "job.processed", "_recording": "job.recorded", "_notify": "job.completed"} {
		if n := o.count(`select count(*) from accession.event e join accession.event c on c.seq < e.seq join report.job_step s on s.job_id = e.aggregate_id and s.entry_id = c.aggregate_id
			where e.aggregate_id = $1 and e.type = $2 and s.step = $3 and c.type = 'entry.completed' and c.actor = 'user/olga'`, job, event, step); n != 1 {
			t.Errorf("%d events %s come after what the worker made of %s", n, event, step)
		}
	}
	o.says(0, words("verify"))
}

// TestTasksThatFail: what a worker says becomes of the job what the state has for it, and a
// requeue asks for all anew; a job that was held asks again.
func TestTasksThatFail(t *testing.T) {
	t.Parallel()
	o, _ := newOutsiders(t)

	// In pending the payload is at fault (J5).
	id, job := o.deposit()
	o.send("pending", o.take("pending", job), "fail", `{"class":"content","message":"no such mission","never":true}`, http.StatusOK, "FAILED")
	if v := o.rest(id); v.Status != "failed" {
		t.Fatalf("%+v", v)
	}
	o.says(0, words("job show "+job), "worker_failed (content): pending: no such mission")

	// A hold ends what waits; the job asks again.
	id, job = o.deposit()
	held := o.stepIs(job, "_pending", 0, "PENDING")
	waitFor(t, job+" to be released", func() bool { return !o.nodeOf(job, "lock") })
	o.says(0, words("job hold "+job+" --reason wait"))
	o.stepIs(job, "_pending", 0, "FAILED")
	o.says(0, words("job release "+job+" --reason go"))
	if w := o.done("pending", job, "{}"); w.Entry != held {
		t.Errorf("%s after %s", w.Entry, held)
	}

	// Estimating never fails: the size is unknown, and the priority that of such jobs.
	o.send("estimating", o.take("estimating", job), "fail", `{"class":"system","message":"no answer","never":true}`, http.StatusOK, "FAILED")
	o.done("provisioning", job, "{}")
	o.shown()
	if n := o.count("select count(*) from accession.event where aggregate_id = $1 and type = 'job.estimated' and (data ->> 'unknown')::int = 1 and (data ->> 'priority')::int = 30", job); n != 1 {
		t.Errorf("%d events say that the size is unknown", n)
	}
	w := o.take("processing", job)
	o.send("processing", w, "fail", `{"class":"system","message":"it stops","given_back":true}`, http.StatusOK, "PENDING")
	o.done("processing", job, "{}")

	// J13, and a requeue that asks anew; J15.
	o.send("recording", o.take("recording", job), "fail", `{"class":"system","message":"the catalogue is closed","never":true}`, http.StatusOK, "FAILED")
	o.rest(id)
	o.says(0, words("job show "+job), "worker_failed (system): recording: the catalogue is closed")
	o.says(0, words("job requeue "+job+" --reason again"))
	if w := o.done("recording", job, "{}"); w.Job.RetryCount != 1 {
		t.Errorf("%+v", w.Job)
	}
	// The end of the job ends what a worker has.
	w = o.take("notify", job)
	o.says(0, words("job fail "+job+" --reason enough"))
	o.stepIs(job, "_notify", 1, "FAILED")
	o.send("notify", w, "complete", `{"result":{}}`, http.StatusConflict, "does not wait for")
	o.says(0, words("job requeue "+job+" --reason again"))
	o.send("notify", o.take("notify", job), "fail", `{"class":"content","message":"the service is away","never":true}`, http.StatusOK, "FAILED")
	waitFor(t, job+" to have failed", func() bool {
		return o.count("select count(*) from accession.event where aggregate_id = $1 and type = 'job.failed' and data ->> 'from' = 'notify' and data -> 'reason' ->> 'code' = 'worker_failed'", job) == 1
	})
	o.shown()
	o.says(0, words("verify"))
}
