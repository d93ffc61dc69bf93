package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/cmd/internal/daemon/ownstep"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

const twoSteps = "steps: [{name: virusscan, dataset: scans, priority: 200, timeout: 10m}, {name: derive, dataset: derived}]\nfetch:"

// jobOf waits until a batch has its job, and returns it.
func (in *installation) jobOf(id domain.BatchID) (job string) {
	in.t.Helper()
	waitFor(in.t, "the job of "+string(id), func() bool {
		return in.count("select count(*) from accession.job where batch_id = $1", string(id)) == 1
	})
	in.must(in.db.QueryRow(in.ctx(), "select id from accession.job where batch_id = $1", string(id)).Scan(&job))
	return job
}

// stepIs waits until the last entry for a step of a job is in a state, and returns its id.
func (in *installation) stepIs(job, step string, retry int, status string) (entry string) {
	in.t.Helper()
	const query = "select count(*) from report.job_step where job_id = $1 and step = $2 and retry_count = $3 and status = $4"
	waitFor(in.t, fmt.Sprintf("the step %s of %s to be %s", step, job, status), func() bool { return in.count(query, job, step, retry, status) == 1 })
	in.must(in.db.QueryRow(in.ctx(), strings.Replace(query, "count(*)", "entry_id", 1), job, step, retry, status).Scan(&entry))
	return entry
}

// TestStepsOfJobs: a job waits for the steps of its profile, which workers make over HTTP and
// by commands, and its object has their results; it fails in the words of a worker, outlives
// the death of one, and its end ends what waits.
func TestStepsOfJobs(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	in.editProfile("fetch:", twoSteps)
	mux := http.NewServeMux()
	for path, text := range map[string]string{"/a.txt": "a\n", "/b.txt": "bb\n",
		"/object.checkm": fmt.Sprintf(manifestOf, "mrt-ingest-manifest") + "http://HOST/a.txt | | | | | part/a.txt\nhttp://HOST/b.txt | | | | | b.txt\n#%eof\n"} {
		mux.HandleFunc(path, func(rw http.ResponseWriter, r *http.Request) {
			_, _ = rw.Write([]byte(strings.ReplaceAll(text, "HOST", r.Host)))
		})
	}
	base := webServer(t, mux)
	s := in.serveInProcess(run.RoleHTTP, run.RoleDaemons, run.RoleRelay, run.RoleProjector)
	d, olga := in.doorOf(s), in.keyOf("olga", "operator", "--all")
	deposit := func() (domain.BatchID, string) {
		id := in.submit(app.Deposit{Payload: base + "/object.checkm", Type: domain.TypeObjectManifest})
		return id, in.jobOf(id)
	}
	take := func() (w leases.Work) {
		t.Helper()
		d.ask(olga, "POST", "/v1/compute/claims", `{"worker":"node7","datasets":["scans"],"wait":60,"lease":60}`).into(d, &w)
		if w.Token == "" || len(w.Inputs) != 2 {
			t.Fatalf("%+v", w)
		}
		return w
	}

	// A worker over HTTP has each file; the job waits without a lock.
	id, job := deposit()
	entry := in.stepIs(job, "virusscan", 0, "PENDING")
	waitFor(t, job+" to say what it waits for", func() bool {
		return in.count("select count(*) from accession.job where id = $1 and status = 'processing' and reason_code = 'compute'", job) == 1
	})
	waitFor(t, job+" to be released", func() bool { return !in.nodeOf(job, "lock") })
	in.says(0, words("job show "+job), "compute (wait): it waits for "+entry, "virusscan")
	in.says(2, words("compute submit --dataset scans --input https://data.example.org/a --key job/"+job+"/virusscan/1"), "job/")
	w := take()
	if w.Entry != entry || w.Priority != 200 || w.Group != "test" || w.Inputs[0].Name != "a.txt" || w.Inputs[1].Size != 3 || w.Inputs[1].SHA256 == "" {
		t.Errorf("%+v", w)
	}
	for i, want := range []string{"a\n", "bb\n"} {
		if a := d.ask(olga, "GET", w.Inputs[i].URL, ""); a.status != http.StatusOK || a.body != want {
			t.Errorf("input %d: %d %q", i, a.status, a.body)
		}
	}
	if a := d.ask(olga, "GET", "/v1/compute/claims/"+w.Token+"/input?number=2", ""); a.status != http.StatusOK || a.body != "bb\n" {
		t.Errorf("%d %q", a.status, a.body)
	}
	d.ask(olga, "GET", "/v1/compute/claims/"+w.Token+"/input?number=3", "").is(d, http.StatusNotFound, "not_found")
	if a := d.ask("", "GET", strings.Replace(w.Inputs[1].URL, ".2.", ".1.", 1), ""); a.status == http.StatusOK {
		t.Errorf("an address that is not signed is answered with %q", a.body)
	}
	d.ask(olga, "PUT", "/v1/compute/claims/"+w.Token+"/outputs/scan.log", "clean\n", "Content-Type: application/octet-stream")
	d.ask(olga, "POST", "/v1/compute/claims/"+w.Token+"/complete", `{"result":{"clean":true}}`)
	in.stepIs(job, "derive", 0, "PENDING")

	// A worker by a command makes the other step, after one that is killed while it has it.
	started := filepath.Join(t.TempDir(), "started")
	victim := in.working("touch "+started+"; sleep 600", "--datasets", "derived")
	waitFor(t, "the command to run", func() bool { _, err := os.Stat(started); return err == nil })
	in.stepIs(job, "derive", 0, "STAGING")
	in.says(0, words("job show "+job), "derive", "STAGING", "SUCCESSFUL", "node7")
	in.must(victim.Kill())
	in.working("cat {in} | wc -c > {out}", "--datasets", "derived")
	v := in.rest(id)
	if v.Status != "completed" || len(v.Jobs) != 1 {
		t.Fatalf("%+v", v)
	}
	in.holds(v.Jobs[0], map[string]string{"part/a.txt": "a\n", "b.txt": "bb\n"})
	var is struct{ Steps []ownstep.Result }
	data, err := os.ReadFile(in.storedAt(v.Jobs[0].PrimaryIdentifier, "system/"+ownstep.FileName))
	in.must(err)
	in.must(json.Unmarshal(data, &is))
	if len(is.Steps) != 2 || is.Steps[0].Step != "virusscan" || string(is.Steps[0].Entry) != entry || fmt.Sprint(is.Steps[0].Files) != "[part/a.txt b.txt]" ||
		strings.Join(strings.Fields(string(is.Steps[0].Result)), "") != `{"clean":true}` || strings.TrimSpace(string(is.Steps[1].Result)) != "5" || is.Steps[1].Attempt != 2 {
		t.Errorf("%s", data)
	}
	if o := is.Steps[0].Outputs; len(o) != 1 || o[0].Name != "scan.log" || o[0].Size != 6 || o[0].SHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte("clean\n"))) || len(is.Steps[1].Outputs) > 0 {
		t.Errorf("%+v", is.Steps)
	}
	if n := in.count(`select count(*) from report.job_step s join record.compute_result r on r.entry_id = s.entry_id and r.sha256 = s.result_sha256
		cross join lateral jsonb_to_recordset(r.outputs) o (name text, size bigint, sha256 text) where s.job_id = $1 and o.name = 'scan.log' and o.size = 6 and length(o.sha256) = 64`, job); n != 1 {
		t.Errorf("SQL has %d outputs", n)
	}
	if n := in.count(`select count(*) from report.job_step s join record.compute_result r on r.entry_id = s.entry_id and r.sha256 = s.result_sha256 where s.job_id = $1`, job); n != 2 {
		t.Errorf("SQL has %d results", n)
	}

	// A failure is the job's in the words of the worker; a requeue requests all anew.
	id, job = deposit()
	w = take()
	d.ask(olga, "POST", "/v1/compute/claims/"+w.Token+"/fail", `{"class":"content","message":"Eicar-Test-Signature in a.txt","never":true}`)
	if v := in.rest(id); v.Status != "failed" {
		t.Fatalf("%+v", v)
	}
	in.says(0, words("job show "+job), "worker_failed (content): virusscan: Eicar-Test-Signature in a.txt")
	in.says(0, words("job requeue "+job+" --reason again"))
	again := in.stepIs(job, "virusscan", 1, "PENDING")

	// The end of a job ends what waits for a worker.
	in.says(0, words("job fail "+job+" --reason enough"))
	in.stepIs(job, "virusscan", 1, "FAILED")
	in.says(0, words("compute show "+again), "job_moved")

	// So it does with what a worker has: that comes back late, and is refused.
	in.says(0, words("job requeue "+job+" --reason again"))
	again = in.stepIs(job, "virusscan", 2, "PENDING")
	w = take()
	in.says(0, words("job delete "+job+" --yes --reason enough"))
	in.stepIs(job, "virusscan", 2, "FAILED")
	in.says(0, words("compute show "+again), "job_moved")
	for verb, body := range map[string]string{"heartbeat": "", "complete": `{"result":{"clean":true}}`} {
		if a := d.ask(olga, "POST", "/v1/compute/claims/"+w.Token+"/"+verb, body); a.status != http.StatusConflict || !strings.Contains(a.body, job+" does not wait for "+again+" any more") {
			t.Errorf("%s: %d %s", verb, a.status, a.body)
		}
	}
	in.shown()
	in.says(0, words("verify"))
}

// nodeOf reports whether a job has a node.
func (in *installation) nodeOf(job, name string) bool {
	in.t.Helper()
	for path := range in.nodesFrom("") {
		if strings.HasSuffix(path, "/jobs/"+job+"/"+name) {
			return true
		}
	}
	return false
}
