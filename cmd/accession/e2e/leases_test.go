package e2e

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// TestWorkersOverHTTP: workers in Python and shell take work over HTTP, and a file of an open
// directory; a lease outlives the process that gave it, an overdue one is returned, and the
// worker that comes late is refused.
func TestWorkersOverHTTP(t *testing.T) {
	t.Parallel()
	p := newProcessed(t)
	in, dir := p.installation, p.dir
	olga, ana := in.keyOf("olga", "operator", "--all"), in.keyOf("ana", "depositor", "--all")
	first := in.serveInProcess(run.RoleHTTP)
	other := in.serveInProcess(run.RoleHTTP, run.RoleDaemons, run.RoleDownload, run.RoleReady)
	d, second := in.doorOf(first), in.doorOf(other)

	request := func(dataset string) {
		in.says(0, []string{"compute", "submit", "--dataset", dataset, "--input", dir.URL + "/night/1_a.dat"})
	}
	ended := func(dataset, status string) {
		t.Helper()
		waitFor(t, "the work of "+dataset+" to be "+status, func() bool {
			return in.count("select count(*) from accession.compute_entry where dataset = $1 and status = $2", dataset, status) == 1
		})
	}
	take := func(dataset string) (w leases.Work) {
		t.Helper()
		d.ask(olga, "POST", "/v1/compute/claims", fmt.Sprintf(`{"worker":"node7","datasets":[%q],"wait":20,"lease":5}`, dataset)).into(d, &w)
		if w.Token == "" || len(w.Inputs) != 1 {
			t.Fatalf("%+v", w)
		}
		return w
	}
	end := func(d *door, w leases.Work, status int, verb, body string) {
		t.Helper()
		if a := d.ask(olga, "POST", "/v1/compute/claims/"+w.Token+"/"+verb, body); a.status != status {
			t.Errorf("%s: %d %s, want %d", verb, a.status, a.body, status)
		}
	}

	// The process that gave the lease is gone; another one serves it.
	request("moved")
	w := take("moved")
	end(d, w, http.StatusOK, "heartbeat", `{"progress":"3 of 7 files"}`)
	d.ask(ana, "POST", "/v1/compute/claims", `{"worker":"w"}`).is(d, http.StatusForbidden, "forbidden")
	first.stop()
	d = second
	end(d, w, http.StatusOK, "heartbeat", "")
	for _, said := range []string{strings.Repeat("a", 201), `two\nlines`, `\u001b[2J`} {
		end(d, w, http.StatusBadRequest, "heartbeat", `{"progress":"`+said+`"}`)
	}
	guessed := func(says string) {
		t.Helper()
		if a := d.ask(olga, "POST", "/v1/compute/claims/"+w.Entry+".guessed/heartbeat", "{}"); a.status != http.StatusConflict || !strings.Contains(a.body, says) {
			t.Errorf("a guessed token: %d %s", a.status, a.body)
		}
	}
	guessed("this is not the token")
	in.says(0, []string{"compute", "show", w.Entry}, "its worker says: 3 of 7 files")
	end(d, w, http.StatusBadRequest, "complete", `{"result":"\u0000"}`)
	in.unanswered(d, olga, "/v1/compute/claims/"+w.Token+"/complete", `{"result":{"bytes":25}}`)
	end(d, w, http.StatusOK, "complete", `{"result":{"bytes":25}}`)
	end(d, w, http.StatusConflict, "complete", `{"result":{"bytes":25},"exit_status":1}`)
	end(d, w, http.StatusConflict, "fail", `{"class":"content","message":"no header"}`)
	end(d, w, http.StatusConflict, "complete", `{"result":{"bytes":26}}`)
	guessed(w.Entry + " is SUCCESSFUL: the lease has ended")
	ended("moved", "SUCCESSFUL")

	// A worker that gives up, and one that falls silent and comes back late.
	request("late")
	w = take("late")
	in.unanswered(d, olga, "/v1/compute/claims/"+w.Token+"/fail", `{"class":"content","message":"no header"}`)
	before := w
	w = take("late")
	end(d, before, http.StatusOK, "fail", `{"class":"content","message":"no header"}`) // another worker has it by now
	end(d, before, http.StatusConflict, "complete", `{"result":1}`)
	waitFor(t, "the overdue lease to end", func() bool {
		return in.count("select count(*) from accession.compute_entry where dataset = 'late' and reason_code = 'worker_lost'") == 1
	})
	end(d, w, http.StatusConflict, "complete", `{"result":1}`)
	if w = take("late"); w.Attempt != 3 {
		t.Errorf("%+v", w)
	}
	end(d, w, http.StatusOK, "fail", `{"class":"content","message":"no header","never":true}`)
	ended("late", "FAILED")

	// The address of an input needs no key, and is there as long as the lease.
	p.polled()
	d.ask(olga, "POST", "/v1/compute/claims", `{"worker":"node7","datasets":["nights"],"wait":60,"lease":600}`).into(d, &w)
	if len(w.Inputs) != 1 || !strings.HasPrefix(w.Inputs[0].URL, leases.InputsPath) || w.Inputs[0].Size != 25 {
		t.Fatalf("%+v", w)
	}
	ticket := strings.TrimPrefix(w.Inputs[0].URL, leases.InputsPath)
	at := func(caller, path string) (status int, digest string) {
		t.Helper()
		a := d.send(caller, "GET", path, http.NoBody)
		return a.status, fmt.Sprintf("%x", sha256.Sum256([]byte(a.body)))
	}
	for caller, path := range map[string]string{"": w.Inputs[0].URL, olga: "/v1/compute/claims/" + w.Token + "/input"} {
		if status, digest := at(caller, path); status != http.StatusOK || digest != w.Inputs[0].SHA256 {
			t.Errorf("%s: %d %s, want %s", path, status, digest, w.Inputs[0].SHA256)
		}
	}
	id, _, _ := strings.Cut(ticket, ".")
	for path, want := range map[string]int{"/v1/compute/claims/" + w.Token + "/input": http.StatusUnauthorized, leases.InputsPath + id + "." + strings.Repeat("ab", 32): http.StatusConflict,
		leases.InputsPath + w.Token: http.StatusConflict, leases.InputsPath + "x": http.StatusConflict, leases.InputsPath + "eid0000009999.ab": http.StatusConflict} {
		if status, _ := at("", path); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
	end(d, w, http.StatusBadRequest, "fail", `{"class":"system","message":"it stops","given_back":true,"never":true}`)
	end(d, w, http.StatusOK, "fail", `{"class":"system","message":"it stops","given_back":true}`)
	if status, _ := at("", w.Inputs[0].URL); status != http.StatusConflict {
		t.Errorf("after the lease: %d", status)
	}
	if strings.Contains(other.log.String(), ticket) {
		t.Error("the log has the address of an input")
	}

	// The examples.
	examples, err := filepath.Abs("../../../deploy/examples")
	in.must(err)
	env := append(os.Environ(), "ACCESSION_KEY="+olga)
	request("sh")
	shell := exec.Command("sh", filepath.Join(examples, "worker.sh"), d.url, "sh")
	shell.Env = env
	if out, err := shell.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	ended("sh", "SUCCESSFUL")
	python := exec.Command("python3", filepath.Join(examples, "worker.py"), d.url, "py", "nights")
	python.Env, python.Stdout, python.Stderr = env, t.Output(), t.Output()
	in.must(python.Start())
	request("py")
	ended("py", "SUCCESSFUL")
	p.reaches("1_a.dat", domain.FileProcessed)
	p.went("1_a.dat", "DISCOVERED", "DOWNLOADING", "DOWNLOADED", "READY", "PROCESSING", "PROCESSING_FAILED:worker_failed", "READY", "PROCESSING", "PROCESSED")
	in.must(python.Process.Signal(syscall.SIGTERM))
	in.must(python.Wait())
	ended("nights", "SUCCESSFUL")
	if n := in.count(`select count(*) from record.compute_result where outputs @> '[{"name": "SHA256SUMS"}]'`); n != 2 {
		t.Errorf("%d results of the worker in Python have their output, want 2", n)
	}
	in.says(0, words("verify"))
}

// TestClaimsOnce: a worker whose claim got no answer sends it again, to any process, and gets the
// lease that it has taken, so that no attempt is lost; it is the caller's and the request's own.
// Shows: P5
func TestClaimsOnce(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	olga, otto := in.keyOf("olga", "operator", "--all"), in.keyOf("otto", "operator", "--all")
	first, d := in.doorOf(in.serveInProcess(run.RoleHTTP)), in.doorOf(in.serveInProcess(run.RoleHTTP, run.RoleDaemons, run.RoleRelay, run.RoleProjector))
	for n := range 5 {
		in.says(0, []string{"compute", "submit", "--dataset", "tides", "--group", fmt.Sprint(n), "--input", "https://data.example.org/a.nc"})
	}
	const claims, claim, key = "/v1/compute/claims", `{"worker":"node7","datasets":["tides"],"wait":20,"lease":600}`, "Idempotency-Key: one"
	take := func(caller, body, key string) (w leases.Work) {
		t.Helper()
		d.ask(caller, "POST", claims, body, key).into(d, &w)
		return w
	}
	in.unanswered(first, olga, claims, claim, key)
	w := take(olga, claim, key)
	if again := take(olga, claim, key); w.Attempt != 1 || w.Token != again.Token || w.Entry != "eid0000000001" {
		t.Fatalf("%+v, then %+v", w, again)
	}
	d.ask(olga, "POST", claims, strings.Replace(claim, "node7", "node8", 1), key).is(d, http.StatusUnprocessableEntity, app.KeyReused)
	if of := take(otto, claim, key); of.Entry != "eid0000000002" {
		t.Errorf("the key of another caller: %+v", of)
	}
	if a := d.ask(olga, "POST", claims+"/"+w.Token+"/complete", `{"result":1}`); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
	next := take(olga, claim, key)
	if next.Entry != "eid0000000003" || next.Token == w.Token {
		t.Errorf("after the end: %+v", next)
	}
	var g sync.WaitGroup
	tokens := make([]string, 8)
	for n := range tokens {
		g.Go(func() {
			var w leases.Work
			[]*door{first, d}[n%2].ask(olga, "POST", claims, claim, "Idempotency-Key: at once").into(d, &w)
			tokens[n] = w.Token
		})
	}
	g.Wait()
	if slices.Sort(tokens); tokens[0] == "" || tokens[0] != tokens[7] {
		t.Errorf("claims at once: %q", tokens)
	}
	const short, other = `{"worker":"node7","datasets":["tides"],"wait":20,"lease":5}`, "Idempotency-Key: two"
	before := take(olga, short, other)
	waitFor(t, "the overdue lease to end", func() bool {
		return in.count("select count(*) from accession.compute_entry where status = 'PENDING' and reason_code = 'worker_lost'") == 1
	})
	if again := take(olga, short, other); again.Entry != before.Entry || again.Attempt != 2 || again.Token == before.Token {
		t.Errorf("after the lease: %+v, then %+v", before, again)
	}
}

// newProcessed returns an installation with the role http, whose dataset has one file that
// workers are to process.
func newProcessed(t *testing.T, set ...string) *polledInstallation {
	t.Helper()
	dir := newOpenDirectory(t, "1_a.dat 20-Nov-2026 09:05 25")
	in := newInstallation(t, append(set, "listen_http=127.0.0.1:0", "ready_interval=100ms")...)
	in.profileOfTasks("{state: pending}")
	p := newPolled(t, in, dir)
	rules := filepath.Join(t.TempDir(), "rules.json")
	in.must(os.WriteFile(rules, []byte(`{"process":{}}`), 0o600))
	in.says(0, []string{"dataset", "set", "nights", "--rules", rules, "--reason", "spectra"})
	return p
}

// unanswered sends a request whose answer is lost on its way back.
func (in *installation) unanswered(d *door, caller, path, body string, headers ...string) {
	in.t.Helper()
	lost := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if a := d.ask(caller, r.Method, r.URL.Path, body, headers...); a.status != http.StatusOK {
			in.t.Errorf("%s: %d %s", r.URL.Path, a.status, a.body)
		}
		panic(http.ErrAbortHandler)
	}))
	defer lost.Close()
	r, err := http.NewRequestWithContext(in.ctx(), http.MethodPost, lost.URL+path, http.NoBody)
	in.must(err)
	if a, err := http.DefaultClient.Do(r); err == nil {
		_ = a.Body.Close()
		in.t.Errorf("%s: it was answered", path)
	}
}
