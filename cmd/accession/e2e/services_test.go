package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/daemon/entrust"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/cmd/internal/stepservice"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/stepserver"
)

// recordingKey is under which a service is asked to record the first version of an object.
func recordingKey(job string) string { return job + "/1/recording" }

// TestServiceOfRecording: a service records each version before the inventory has it. While it is
// ill its jobs try again, while it works they wait, and say so; its answer is kept.
// Shows: P5
func TestServiceOfRecording(t *testing.T) {
	t.Parallel()
	in := newPatient(t, "service_credentials=test:archive:s3cret", "fetch_callback_timeout=2s")
	server := stepserver.New(t, "archive", "s3cret")
	in.editProfile("fetch:", "recording: "+server.URL+"\nfetch:")
	in.open()
	server.Later(3)
	server.Fail(stepserver.Fault{Status: 503, Body: "maintenance"}, stepserver.Fault{Status: 429, Header: map[string]string{"Retry-After": "1"}},
		stepserver.Fault{Hang: true}, stepserver.Fault{Lose: true})
	base := goodServer(t)
	in.serveInProcess()
	id := in.submit(app.Deposit{Payload: base + "/a.txt", Type: domain.TypeFile})
	for _, code := range []domain.Code{stepservice.CodeUnavailable, entrust.CodeWaits} {
		waits := in.await("a job that waits with "+string(code), 0, func(r domain.Recorded) bool {
			w, ok := r.Data.(*domain.JobWaiting)
			return ok && r.BatchID == id && w.Reason.Code == code
		}).Data.(*domain.JobWaiting)
		if want := map[domain.Code]string{stepservice.CodeUnavailable: "answers 503 Service Unavailable: maintenance", entrust.CodeWaits: "has it since"}[code]; !strings.Contains(waits.Reason.Message, want) ||
			waits.Reason.Class != domain.ClassWait || !strings.HasSuffix("http://"+waits.Reason.Host+"/steps", strings.TrimPrefix(server.URL, "http://")) {
			t.Errorf("it waits: %+v", waits.Reason)
		}
	}
	v := in.rest(id)
	if v.Status != string(domain.BatchCompleted) {
		t.Fatalf("the batch is %s", v.Status)
	}
	key := recordingKey(v.Jobs[0].ID)
	works := server.Works()
	stored, err := os.ReadFile(in.manifestOf(v.Jobs[0].PrimaryIdentifier))
	in.must(err)
	if w := works[key]; len(works) != 1 || w.Manifest != string(stored) || w.Done != 1 {
		t.Errorf("%+v", works)
	}
	if n := in.count("select count(*) from record.effect where key = $1 and kind = $2 and state = 'done' and result->>'id' = $3 and result->>'service' = $4",
		key, record.EffectRecord, "record of "+v.Jobs[0].ID, server.URL); n != 1 {
		t.Error("its answer is not kept")
	}
	in.says(0, words("verify"))
}

// TestServicesThatDoNotWork: a job whose service of either step refuses, lies or does not answer
// fails in its words, and is not in the inventory; once the cause is mended and it is requeued it
// completes, nothing is stored again, and each service has its own account.
// Shows: P5
func TestServicesThatDoNotWork(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "service_credentials=test/storage:archive:s3cret\ntest:catalogue:0ther")
	servers := map[string]*stepserver.Server{profile.FieldStorage: stepserver.New(t, "archive", "s3cret"), profile.FieldRecording: stepserver.New(t, "catalogue", "0ther")}
	for field, server := range servers {
		in.editProfile("fetch:", field+": "+server.URL+"\nfetch:")
	}
	in.open()
	base := goodServer(t)
	in.serveInProcess()
	for _, c := range []struct {
		field  string
		faults []stepserver.Fault
		code   domain.Code
		class  domain.Class
		says   string
	}{
		{profile.FieldStorage, []stepserver.Fault{{Status: 409, Body: "another manifest"}}, stepservice.CodeRefused, domain.ClassContent, "another manifest"},
		{profile.FieldStorage, []stepserver.Fault{{Status: 403}}, stepservice.CodeUnauthorized, domain.ClassSystem, "the service of storage"},
		{profile.FieldStorage, []stepserver.Fault{{Status: 200, Body: `{"object_id":"ark:/99999/fk4","version":1}`}}, stepservice.CodeAnswer, domain.ClassSystem, `its object_id is "ark:/99999/fk4"`},
		{profile.FieldStorage, []stepserver.Fault{{Status: 503}, {Status: 500}}, stepservice.CodeUnavailable, domain.ClassSystem, "answers 500"},
		{profile.FieldRecording, []stepserver.Fault{{Status: 401}}, stepservice.CodeUnauthorized, domain.ClassSystem, "correct the line of the profile in service_credentials"},
		{profile.FieldRecording, []stepserver.Fault{{Status: 422, Body: `{"detail":"no such collection"}`}}, stepservice.CodeRefused, domain.ClassContent, "no such collection"},
		{profile.FieldRecording, []stepserver.Fault{{Status: 200, Body: `{"object_id":"ark:/99999/fk4","version":1}`}}, stepservice.CodeAnswer, domain.ClassSystem, `its object_id is "ark:/99999/fk4"`},
		{profile.FieldRecording, []stepserver.Fault{{Status: 503}, {Status: 500}}, stepservice.CodeUnavailable, domain.ClassSystem, "answers 500"},
	} {
		servers[c.field].Fail(c.faults...)
		id := in.submit(app.Deposit{Payload: base + "/a.txt", Type: domain.TypeFile})
		v := in.rest(id)
		if j := v.Jobs[0]; v.Status != string(domain.BatchFailed) || deref(j.ReasonCode) != string(c.code) || deref(j.ReasonClass) != string(c.class) || !strings.Contains(deref(j.ReasonMessage), c.says) {
			t.Fatalf("%s with %s (%s): %s", v.Status, deref(j.ReasonCode), deref(j.ReasonClass), deref(j.ReasonMessage))
		}
		job, object := v.Jobs[0].ID, v.Jobs[0].PrimaryIdentifier
		if n := in.count("select count(*) from record.object where primary_identifier = $1", object); n != 0 {
			t.Errorf("%s is in the inventory", object)
		}
		had := in.versionFiles(object)
		in.says(0, words("job requeue "+job+" --reason mended"))
		waitFor(t, job+" to complete", func() bool {
			return in.count("select count(*) from accession.job where id = $1 and status = 'completed'", job) == 1
		})
		for field, server := range servers {
			if w := server.Works()[job+"/1/"+field]; w.Asked != 1 || w.Done != 1 {
				t.Errorf("%s: %+v", field, w)
			}
		}
		if n := in.count("select count(*) from accession.event where aggregate_id = $1 and type = 'job.processed'", job); n != 1 {
			t.Errorf("it was processed %d times", n)
		}
		for name, is := range in.versionFiles(object) {
			if was := had[name]; was == nil || !os.SameFile(is, was) {
				t.Errorf("%s was written again", name)
			}
		}
	}
	in.says(0, words("verify"))
}

// TestServiceOfStorage: a service gets the bytes of a version, by a key of its own, before it is
// recorded; the job waits until the service has stored them.
// Shows: P5 P13
func TestServiceOfStorage(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	server := stepserver.New(t, "", "")
	server.Later(1 << 30)
	in.editProfile("fetch:", "storage: "+server.URL+"\nfetch:")
	in.open()
	key, other := in.keyOf("archive", "reader", "--collection", "test"), in.keyOf("rocky", "reader", "--collection", "rocks")
	base := goodServer(t)
	d := in.doorOf(in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...))
	id := in.submit(app.Deposit{Payload: base + "/a.txt", Type: domain.TypeFile})
	in.await("a job that waits for its service", 0, func(r domain.Recorded) bool {
		w, ok := r.Data.(*domain.JobWaiting)
		return ok && r.BatchID == id && w.Reason.Code == entrust.CodeWaits && r.Aggregate.Kind == domain.KindJob
	})
	job := in.jobOf(id)
	var m store.StorageManifest
	in.must(json.Unmarshal([]byte(server.Works()[job+"/1/storage"].Manifest), &m))
	if m.Job != domain.JobID(job) || len(m.Files) < 3 {
		t.Fatalf("%+v", m)
	}
	for _, f := range m.Files {
		at := "/v1/jobs/" + job + "/stored/" + url.PathEscape(f.Name)
		status, h, body, short := d.get(key, at+"?kind="+string(f.Kind))
		if status != 200 || short || sha256Text(string(body)) != f.SHA256 || h.Get("ETag") != `"sha256-`+f.SHA256+`"` {
			t.Errorf("%s: %d %v, %d bytes", f.Name, status, h, len(body))
		}
		if status, _, part, _ := d.get(key, at, "Range: bytes=1-2"); status != 206 || string(part) != string(body[1:3]) {
			t.Errorf("%s: %d %q", f.Name, status, part)
		}
		d.ask(other, "GET", at, "").is(d, 404, "not_found")
	}
	d.ask(key, "GET", "/v1/jobs/"+job+"/stored/b.txt", "").is(d, 404, "not_found")
	d.ask(key, "GET", "/v1/jobs/"+job+"/stored/accession-erc.txt?kind=producer", "").is(d, 404, "not_found")
	if n := in.count("select count(*) from record.object_version where job_id = $1", job); n != 0 {
		t.Error("it is recorded before its service has stored it")
	}
	server.Finish()
	if v := in.rest(id); v.Status != string(domain.BatchCompleted) {
		t.Fatalf("the batch is %s", v.Status)
	}
	if n := in.count("select count(*) from record.effect where key = $1 and kind = $2 and state = 'done' and result->>'service' = $3", job+"/1/storage", record.EffectStorage, server.URL); n != 1 {
		t.Error("its answer is not kept")
	}
	in.says(0, words("verify"))
}

// TestServiceOfThePage: the service of docs/services.md that records does so once for a version.
func TestServiceOfThePage(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	at := in.serviceOfThePage("## A service in thirty lines", "0", filepath.Join(in.dir, "records.sqlite"))
	in.editProfile("fetch:", "recording: "+at+"\nfetch:")
	base := goodServer(t)
	in.serveInProcess()
	v := in.rest(in.submit(app.Deposit{Payload: base + "/a.txt", Type: domain.TypeFile}))
	if v.Status != string(domain.BatchCompleted) {
		t.Fatalf("the batch is %s", v.Status)
	}
	key := recordingKey(v.Jobs[0].ID)
	if n := in.count("select count(*) from record.effect where key = $1 and state = 'done' and result->>'id' = $1", key); n != 1 {
		t.Error("its answer is not kept")
	}
	in.takesOneManifest(at, key, v.Jobs[0].PrimaryIdentifier)
}

// TestServiceOfThePageThatStores: the other one of that page gets the bytes of each version.
func TestServiceOfThePageThatStores(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	in.open()
	key := in.keyOf("archive", "reader", "--collection", "test")
	base := goodServer(t)
	d := in.serveToRewrite()
	dir := t.TempDir()
	at := in.serviceOfThePage("## A service that stores", "0", d.url, key, dir)
	in.rewrite("test", "fetch:", "storage: "+at+"\nfetch:")
	v := in.rest(in.submit(app.Deposit{Payload: base + "/batch.checkm", Type: domain.TypeBatchManifest}))
	if v.Status != string(domain.BatchCompleted) || len(v.Jobs) == 0 {
		t.Fatalf("the batch is %s", v.Status)
	}
	for _, j := range v.Jobs {
		data, err := os.ReadFile(in.manifestOf(j.PrimaryIdentifier))
		in.must(err)
		var m store.StorageManifest
		in.must(json.Unmarshal(data, &m))
		for _, f := range m.Files {
			bytes, err := os.ReadFile(filepath.Join(dir, f.SHA256))
			if err != nil || sha256Text(string(bytes)) != f.SHA256 {
				t.Errorf("%s of %s: %v", f.Name, j.ID, err)
			}
		}
		in.takesOneManifest(at, j.ID+"/1/storage", j.PrimaryIdentifier)
	}
	in.says(0, words("verify"))
}

// serviceOfThePage runs the service that docs/services.md has below a heading, and returns its URL.
func (in *installation) serviceOfThePage(heading string, args ...string) string {
	in.t.Helper()
	page, err := os.ReadFile("../../../docs/services.md")
	in.must(err)
	_, part, _ := strings.Cut(string(page), heading)
	python := exec.CommandContext(in.ctx(), "python3", append([]string{"-c", between(in.t, part, "```python\n", "```")}, args...)...)
	python.Stderr = &lockedBuffer{} // it says each request
	out, err := python.StdoutPipe()
	in.must(err)
	in.must(python.Start())
	in.t.Cleanup(func() { _ = python.Process.Kill(); _ = python.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	in.must(err)
	return strings.TrimSpace(line)
}

// takesOneManifest checks that a service takes the manifest of an object again under its key, and
// no other one.
func (in *installation) takesOneManifest(at, key, primary string) {
	in.t.Helper()
	ask := func(manifest []byte) int {
		r, err := http.NewRequestWithContext(in.ctx(), http.MethodPost, at, bytes.NewReader(manifest))
		in.must(err)
		r.Header.Set("Idempotency-Key", key)
		answer, err := http.DefaultClient.Do(r)
		in.must(err)
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	stored, err := os.ReadFile(in.manifestOf(primary))
	in.must(err)
	if same, other := ask(stored), ask(append(stored, '\n')); same != http.StatusOK || other != http.StatusConflict {
		in.t.Errorf("the same manifest again: %d; another one: %d", same, other)
	}
}
