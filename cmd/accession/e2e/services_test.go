package e2e

import (
	"bufio"
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/daemon/entrust"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/stepservice"
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

// TestServiceThatDoesNotRecord: a job whose service refuses, lies or does not answer fails in its
// words, and is not in the inventory; once the cause is mended and it is requeued it completes,
// and nothing is stored again.
// Shows: P5
func TestServiceThatDoesNotRecord(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "service_credentials=test:archive:s3cret")
	server := stepserver.New(t, "archive", "s3cret")
	in.editProfile("fetch:", "recording: "+server.URL+"\nfetch:")
	in.open()
	base := goodServer(t)
	in.serveInProcess()
	for _, c := range []struct {
		faults []stepserver.Fault
		code   domain.Code
		class  domain.Class
		says   string
	}{
		{[]stepserver.Fault{{Status: 401}}, stepservice.CodeUnauthorized, domain.ClassSystem, "correct the line of the profile in service_credentials"},
		{[]stepserver.Fault{{Status: 422, Body: `{"detail":"no such collection"}`}}, stepservice.CodeRefused, domain.ClassContent, "no such collection"},
		{[]stepserver.Fault{{Status: 200, Body: `{"object_id":"ark:/99999/fk4","version":1}`}}, stepservice.CodeAnswer, domain.ClassSystem, `its object_id is "ark:/99999/fk4"`},
		{[]stepserver.Fault{{Status: 503}, {Status: 500}}, stepservice.CodeUnavailable, domain.ClassSystem, "answers 500"},
	} {
		server.Fail(c.faults...)
		id := in.submit(app.Deposit{Payload: base + "/a.txt", Type: domain.TypeFile})
		v := in.rest(id)
		if j := v.Jobs[0]; v.Status != string(domain.BatchFailed) || deref(j.ReasonCode) != string(c.code) || deref(j.ReasonClass) != string(c.class) || !strings.Contains(deref(j.ReasonMessage), c.says) {
			t.Fatalf("%s with %s (%s): %s", v.Status, deref(j.ReasonCode), deref(j.ReasonClass), deref(j.ReasonMessage))
		}
		job, object := v.Jobs[0].ID, v.Jobs[0].PrimaryIdentifier
		if n := in.count("select count(*) from record.object where primary_identifier = $1", object); n != 0 {
			t.Errorf("%s is in the inventory", object)
		}
		in.says(0, words("job requeue "+job+" --reason mended"))
		in.await("the end of "+job, 0, func(r domain.Recorded) bool { return r.Aggregate.ID == job && r.Type == domain.EventJobCompleted })
		if w := server.Works()[recordingKey(job)]; w.Asked != 1 || w.Done != 1 {
			t.Errorf("%+v", w)
		}
		if n := in.count("select count(*) from accession.event where aggregate_id = $1 and type = 'job.processed'", job); n != 1 {
			t.Errorf("it was stored %d times", n)
		}
	}
	in.says(0, words("verify"))
}

// TestServiceOfThePage: the service of docs/services.md records versions, each once.
func TestServiceOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/services.md")
	if err != nil {
		t.Fatal(err)
	}
	in := newInstallation(t)
	records := filepath.Join(in.dir, "records.sqlite")
	python := exec.CommandContext(in.ctx(), "python3", "-c", between(t, string(page), "```python\n", "```"), "0", records)
	python.Stderr = &lockedBuffer{} // it says each request
	out, err := python.StdoutPipe()
	in.must(err)
	in.must(python.Start())
	t.Cleanup(func() { _ = python.Process.Kill(); _ = python.Wait() })
	url, err := bufio.NewReader(out).ReadString('\n')
	in.must(err)
	in.editProfile("fetch:", "recording: "+strings.TrimSpace(url)+"\nfetch:")
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
	ask := func(manifest []byte) int {
		r, err := http.NewRequestWithContext(in.ctx(), http.MethodPost, strings.TrimSpace(url), bytes.NewReader(manifest))
		in.must(err)
		r.Header.Set("Idempotency-Key", key)
		answer, err := http.DefaultClient.Do(r)
		in.must(err)
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	stored, err := os.ReadFile(in.manifestOf(v.Jobs[0].PrimaryIdentifier))
	in.must(err)
	if same, other := ask(stored), ask(append(stored, '\n')); same != http.StatusOK || other != http.StatusConflict {
		t.Errorf("the same manifest again: %d; another one: %d", same, other)
	}
}
