package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/cmd/internal/app"
	names "github.com/accession-ingest/accession/cmd/internal/mint/service"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/minter"
)

// identifiers returns what a profile says of them, made known by a service.
func identifiers(server *minter.Server, dataCite bool) string {
	if dataCite {
		return "identifier: {scheme: doi, prefix: 10.5072, shoulder: fk4, minter: datacite, url: " + server.URL() + "}"
	}
	return "identifier: {naan: 99999, shoulder: fk4, minter: ezid, url: " + server.URL() + ", target: 'https://files.test/{id}'}"
}

const local = "identifier: {naan: 99999, shoulder: fk4}"

// TestMinters: an object gets its identifier by a service. While this is ill its jobs wait, and
// say why in its words; a refusal ends them, until an operator has mended its cause.
// Shows: P5
func TestMinters(t *testing.T) {
	t.Parallel()
	for name, dataCite := range map[string]bool{"ezid": false, "datacite": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoulder, scheme := "ark:/99999/fk4", "ark:/99999/fk4"
			if dataCite {
				shoulder, scheme = "10.5072/fk4", "doi:10.5072/fk4"
			}
			server := minter.New(t, minter.Options{DataCite: dataCite, Shoulder: shoulder, User: "apitest", Password: "s3cret"})
			in := newPatient(t, "minter_credentials=test:apitest:s3cret", "fetch_callback_timeout=2s")
			in.editProfile(local, identifiers(server, dataCite))
			in.open()
			server.Fail(minter.Fault{Status: 503, Body: "error: maintenance"}, minter.Fault{Status: 429, Header: map[string]string{"Retry-After": "1"}},
				minter.Fault{Hang: true}, minter.Fault{Lose: true})
			base := goodServer(t)
			in.serveInProcess()
			id := in.submit(app.Deposit{Payload: base + "/a.txt", Type: domain.TypeFile})
			waits := in.await("a job that waits for the service", 0, func(r domain.Recorded) bool {
				w, ok := r.Data.(*domain.JobWaiting)
				return ok && r.BatchID == id && w.Reason.Code == names.CodeUnavailable
			})
			if w := waits.Data.(*domain.JobWaiting); !strings.Contains(w.Reason.Message, "answers 503") || w.Reason.Class != domain.ClassWait {
				t.Errorf("it waits: %+v", w.Reason)
			}
			if v := in.rest(id); v.Status != string(domain.BatchCompleted) {
				t.Fatalf("the batch is %s", v.Status)
			}
			primary := func(id domain.BatchID) (job, primary string) {
				in.must(in.db.QueryRow(in.ctx(), "select id, primary_identifier from accession.job where batch_id = $1", id).Scan(&job, &primary))
				return job, primary
			}
			_, first := primary(id)
			records, made := server.Records()
			if r := records[strings.TrimPrefix(first, "doi:")]; made != 1 || !strings.HasPrefix(first, scheme) || r == nil || dataCite && r["state"] != `"draft"` || !dataCite && r["_target"] != "https://files.test/"+first {
				t.Errorf("%s: %d made, %v", first, made, records)
			}

			server.Fail(minter.Fault{Status: 401, Body: "error: unauthorized - authentication failure"})
			failed := in.submit(app.Deposit{Payload: base + "/b.txt", Type: domain.TypeFile})
			if v := in.rest(failed); v.Status != string(domain.BatchFailed) {
				t.Fatalf("the batch is %s", v.Status)
			}
			var job string
			in.must(in.db.QueryRow(in.ctx(), "select id from accession.job where batch_id = $1", failed).Scan(&job))
			in.says(0, words("job show "+job), string(names.CodeUnauthorized), "answers 401 Unauthorized")
			in.says(0, []string{"job", "requeue", job, "--reason", "the account was mended"})
			in.await("the end of "+job, 0, func(r domain.Recorded) bool {
				return r.Aggregate.ID == job && r.Type == domain.EventJobCompleted
			})
			if _, made := server.Records(); made != 2 {
				t.Errorf("%d made for two jobs", made)
			}
			in.says(0, words("verify"))
		})
	}
}

// registers: each service makes one identifier for a job, wherever a process dies.
func registers(o *crashInstallation, point string) {
	for _, dataCite := range []bool{false, true} {
		registersAt(o, point, dataCite)
	}
}

func registersAt(o *crashInstallation, point string, dataCite bool) {
	shoulder := "ark:/99999/"
	if dataCite {
		shoulder = "10.5072/"
	}
	server := minter.New(o.t, minter.Options{DataCite: dataCite, Shoulder: shoulder, User: "apitest", Password: "s3cret"})
	o.n++
	name := "m" + strings.ReplaceAll(uuid.NewString(), "-", "")
	file := filepath.Join(o.dir, name+".yaml")
	said := strings.NewReplacer(": test\n", ": "+name+"\n", local, identifiers(server, dataCite)).Replace(profileOf("") + "callback: {url: " + o.base + "/callback}\n")
	o.must(os.WriteFile(file, []byte(said), 0o600))
	o.run("profile", "set", name, file, "--reason", "a test")
	s, err := o.app.Submit(o.ctx(), app.Deposit{Profile: name, Submitter: "tester", Payload: o.base + "/file?n=" + o.number(), Type: domain.TypeFile})
	o.must(err)
	account := "--set=minter_credentials=" + name + ":apitest:s3cret"
	o.dies(point, nil, "serve", account)
	next := o.serve(account)
	next.works()
	job := o.jobOf(s.Batch)
	waitFor(o.t, job+" to be completed", func() bool {
		return o.count("select count(*) from accession.job where id = $1 and status = 'completed'", job) == 1
	})
	next.stop()
	var primary string
	o.must(o.db.QueryRow(o.ctx(), "select primary_identifier from accession.job where id = $1", job).Scan(&primary))
	records, made := server.Records()
	record := records[strings.TrimPrefix(primary, "doi:")]
	madeFor := record[names.Marker]
	if dataCite {
		madeFor = record["alternateIdentifiers"]
	}
	if want := o.cfg.Instance + "/" + job; made != 1 || !dataCite && madeFor != want || !strings.Contains(madeFor, want) || strings.HasPrefix(primary, "doi:") != dataCite {
		o.t.Errorf("%s: %d made, %v, and the object is %s", point, made, records, primary)
	}
}
