package e2e

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

var recordAs = flag.String("record", "", "keep the history of TestHistoryOfEverything under this name, for TestRecordedHistories")

// TestHistoryOfEverything lets one installation live through everything that its
// people, its depositors and its disk can do to it; in the end all agree. With
// -record its history is kept for later versions of the program.
func TestHistoryOfEverything(t *testing.T) {
	t.Parallel()
	in := newImpatient(t)
	box := zipOf(t, map[string]string{"inside.txt": "inside\n"})
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/box.zip" {
			_, _ = w.Write(box)
			return
		}
		everything(w, r)
	}))
	others, mended := mends(t, "5-gone.txt")
	stop := in.serveInProcess().stop

	// Every kind, a manifest that is cut off, a server that does not answer.
	var ended []domain.BatchID
	for _, d := range []app.Deposit{
		{Payload: "/a.txt", Type: domain.TypeFile}, {Payload: "/box.zip", Type: domain.TypeContainer},
		{Payload: "/object.checkm", Type: domain.TypeObjectManifest}, {Payload: "/batch.checkm", Type: domain.TypeBatchManifest},
		{Payload: "/boxes.checkm", Type: domain.TypeContainerBatchManifest}, {Payload: "/singles.checkm", Type: domain.TypeFileBatchManifest},
		{Payload: "/cut.checkm", Type: domain.TypeFileBatchManifest}, {Payload: "/hang.txt", Type: domain.TypeFile},
	} {
		d.Payload = base + d.Payload
		ended = append(ended, in.submit(d))
	}
	for i, id := range ended {
		if v := in.rest(id); (v.Status == string(domain.BatchCompleted)) != (i < 6) {
			t.Errorf("%s is %s", id, v.Status)
		}
	}

	// Jobs that fail, are deleted, tried again, and reported once more.
	id := in.submit(app.Deposit{Payload: others + "/batch.checkm", Type: domain.TypeFileBatchManifest})
	v := in.rest(id)
	job := func(i int) string { return v.Jobs[i].ID }
	given := in.first(domain.EventFileIgnored, func(r domain.Recorded) bool { return r.BatchID == id })
	in.done(words("job delete --yes --reason listed-by-mistake " + job(4)))
	mended.Store(true)
	in.done(words("file requeue --reason once-more " + given.Aggregate.ID)) // and its job
	again := "job requeue --reason found"
	for i := 1; i < 4; i++ {
		if given.Data.(*domain.FileMoved).JobID != domain.JobID(job(i)) {
			again += " " + job(i)
		}
	}
	in.done(words(again))
	for i := 1; i < 4; i++ {
		in.first("", func(r domain.Recorded) bool {
			return r.Aggregate.ID == job(i) && (r.Type == domain.EventJobCompleted || r.Type == domain.EventJobFailed && r.Version > v.Jobs[i].Version)
		})
	}
	in.done(words("batch update-report --reason two-were-found " + string(id)))
	asked := in.first(domain.EventBatchUpdateRequested, func(r domain.Recorded) bool { return r.BatchID == id })
	in.first(domain.EventBatchFailed, func(r domain.Recorded) bool { return r.BatchID == id && r.Version > asked.Version })
	in.shown()
	in.done(words("batch delete --yes --reason withdrawn " + string(id)))
	in.done(words("batch cleanup --yes " + string(ended[0])))

	// Holds of a collection, of a queue, of a job; another priority.
	in.says(0, words("collection hold test --reason terms"))
	id = in.submit(app.Deposit{Payload: base + "/a.txt"})
	in.first(domain.EventBatchHeld, func(r domain.Recorded) bool { return r.BatchID == id })
	in.says(0, words("collection release test"))
	in.done(words("batch release " + string(id)))
	in.rest(id)
	in.says(0, words("queue pause pending --reason later"))
	id = in.submit(app.Deposit{Payload: base + "/batch.checkm", Type: domain.TypeBatchManifest})
	in.first(domain.EventBatchStarted, func(r domain.Recorded) bool { return r.BatchID == id })
	held := in.first(domain.EventJobCreated, func(r domain.Recorded) bool { return r.BatchID == id }).Aggregate.ID
	in.done(words("queue free --reason others-wait " + string(id)))
	in.done(words("job priority --to 3 " + held))
	in.done(words("job hold --reason look " + held))

	// What was changed in the live state by hand is repaired.
	stop()
	stop = in.serveInProcess("relay", "projector").stop
	in.shown()
	z := in.raw()
	z.set("/jobs/"+held+"/priority", "9")
	z.cut("/batches/" + string(id) + "/progress")
	z.cut("/config/versions/queue:pending")
	if v, err := in.app.Repair(in.ctx(), app.VerifyOptions{Wait: 20 * time.Second}); err != nil || v.Worst != "" || len(v.Repairs) < 3 {
		t.Fatalf("%+v, %v", v, err)
	}
	stop()
	in.serveInProcess()
	in.done(words("job release " + held))
	in.says(0, words("queue resume pending"))
	if v := in.rest(id); v.Status != string(domain.BatchCompleted) {
		t.Errorf("%+v", v.BatchSummary)
	}
	in.asksInTurn()
	in.worksOnGroups()
	in.agree()

	kinds := map[domain.EventType]int{}
	log, err := in.wired.Log(in.ctx())
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range log.Read(in.ctx(), eventstore.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		kinds[r.Type]++
		if collection, profile, ok := belongsTo(r); ok && (collection == "" || profile == "") {
			t.Errorf("%s names the collection %q and the profile %q", r.ID(), collection, profile)
		}
	}
	elsewhere := []domain.EventType{domain.EventJobWaiting, domain.EventFileProcessingFailed, domain.EventFileAbandoned, domain.EventFileSkipped, domain.EventSettingRestored,
		domain.EventQueryFailed}
	for _, def := range domain.Registry {
		if kinds[def.Type] == 0 && !strings.Contains(fmt.Sprint(elsewhere), string(def.Type)) {
			t.Errorf("nothing of the sort %s happened", def.Type)
		}
	}
	if *recordAs != "" {
		in.record(filepath.Join("..", "..", "internal", "app", "testdata", "history", *recordAs+".jsonl.gz"))
	}
}

// belongsTo returns the collection and the profile that an event of a batch, a job or a file
// names.
func belongsTo(r domain.Recorded) (collection, profile string, ok bool) {
	if m, ok := domain.MoveOfBatch(r.Data); ok {
		return m.Collection, m.Profile, true
	}
	if m, ok := domain.MoveOfJob(r.Data); ok {
		return m.Collection, m.Profile, true
	}
	m, ok := domain.MoveOfFile(r.Data)
	return m.Collection, m.Profile, ok
}

// asksInTurn lets a query be parked, wait again, and be answered.
func (in *installation) asksInTurn() {
	in.t.Helper()
	list := filepath.Join(in.t.TempDir(), "list.txt")
	in.must(os.WriteFile(list, []byte("bid0000000001\n"), 0o600))
	in.says(0, words("queue suspend query --reason later"))
	in.says(0, words("query submit --submitter ana "+list))
	id := in.seen(1, domain.EventQueryReceived)[0].Aggregate.ID
	in.done(words("query park --reason not-now " + id))
	in.done(words("query unpark --reason now " + id))
	in.says(0, words("queue resume query --reason now"))
	in.seen(1, domain.EventQueryAnswered)
}

// everything is a depositor's server.
func everything(rw http.ResponseWriter, r *http.Request) {
	manifest := func(profile string, rows ...string) {
		text := fmt.Sprintf(manifestOf, profile)
		for _, row := range rows {
			text += "http://" + r.Host + row + "\n"
		}
		_, _ = rw.Write([]byte(text + "#%eof\n"))
	}
	switch r.URL.Path {
	case "/object.checkm":
		manifest("mrt-ingest-manifest", "/a.txt | | | | | part/a.txt", "/b.txt | | | | | b.txt")
	case "/batch.checkm":
		manifest("mrt-batch-manifest", "/object.checkm", "/object.checkm")
	case "/boxes.checkm":
		manifest("mrt-container-batch-manifest", "/box.zip", "/box.zip | | | | | other.zip")
	case "/singles.checkm":
		manifest("mrt-single-file-batch-manifest", "/a.txt", "/b.txt")
	case "/cut.checkm":
		_, _ = fmt.Fprintf(rw, manifestOf, "mrt-single-file-batch-manifest")
	case "/hang.txt":
		<-r.Context().Done()
	default:
		_, _ = rw.Write([]byte(r.URL.Path))
	}
}

// done runs a command line until no worker is at what it asks for.
func (in *installation) done(args []string) {
	in.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		code, out, errs := in.call(args...)
		if code == 0 {
			return
		}
		if !strings.Contains(errs, "locked by a worker") {
			in.t.Fatalf("accession %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, errs)
		}
		<-tick.C
	}
}

// first follows the log from its start to the first event of a type, "" = of any,
// that is the one.
func (in *installation) first(of domain.EventType, is func(domain.Recorded) bool) domain.Recorded {
	in.t.Helper()
	log, err := in.wired.Log(in.ctx())
	if err != nil {
		in.t.Fatal(err)
	}
	for r, err := range log.Read(in.ctx(), eventstore.ReadOptions{Follow: true}) {
		if err != nil {
			in.t.Fatalf("waiting for %s: %v", of, err)
		}
		if (of == "" || r.Type == of) && is(r) {
			return r
		}
	}
	return domain.Recorded{}
}

// record writes the stream as it is, one message a line. What was recorded once
// stays as it is.
func (in *installation) record(file string) {
	in.t.Helper()
	must := func(err error) {
		in.t.Helper()
		if err != nil {
			in.t.Fatal(err)
		}
	}
	nc, err := nats.Connect(in.cfg.NATS[0])
	must(err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	must(err)
	stream, err := js.Stream(in.ctx(), in.cfg.NATSStream)
	must(err)
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	must(err)
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	must(err)
	out := json.NewEncoder(z)
	out.SetEscapeHTML(false)
	for seq := uint64(1); seq <= stream.CachedInfo().State.LastSeq; seq++ {
		m, err := stream.GetMsg(in.ctx(), seq)
		must(err)
		must(out.Encode(struct {
			Seq     uint64              `json:"seq"`
			Stored  time.Time           `json:"stored"`
			Subject string              `json:"subject"`
			Header  map[string][]string `json:"header"`
			Data    json.RawMessage     `json:"data"`
		}{seq, m.Time.UTC(), strings.TrimPrefix(m.Subject, in.cfg.NATSPrefix+"."), m.Header, m.Data}))
	}
	must(errors.Join(z.Close(), f.Close()))
}

// worksOnGroups does what belongs to no deposit: slots of a dataset open and end, and entries
// of the compute queue are worked on.
func (in *installation) worksOnGroups() {
	in.t.Helper()
	in.says(0, words("dataset add nights --profile test --reason images"))
	for _, group := range []string{"20261119", "20261120"} {
		in.says(0, words("slot add nights "+group+" --from 2126-01-01T00:00Z --to 2126-01-02T00:00Z"), "PENDING")
	}
	in.says(0, words("slot close nights 20261119 --reason clouds"), "MISSED")
	in.says(0, words("slot open nights 20261120 --reason early"), "ACTIVE")
	in.says(0, words("slot close nights 20261120 --reason complete"), "DONE")

	h, err := in.wired.Handler(in.ctx())
	in.must(err)
	worker := storetest.Under(nil, false)
	for i, end := range []compute.Command{compute.Complete{}, compute.Fail{Reason: storetest.Broken()}, compute.Return{Reason: storetest.Broken()}} {
		asked := entry.Work{Dataset: "nights", Priority: entry.DefaultPriority, Key: fmt.Sprint("work ", i)}
		_, err := h.RequestEntry(in.ctx(), compute.Request{Work: asked, Request: entry.Request{Submitter: "ana", Inputs: []string{"http://files.test/a"}}}, storetest.Operator())
		in.must(err)
		taken, err := h.TakeEntry(in.ctx(), compute.Wants{}, worker)
		in.must(err)
		ended, err := h.EndEntry(in.ctx(), taken, end, worker)
		in.must(err)
		if ended.State.State == entry.Failed {
			_, err := h.Entry(in.ctx(), ended.State.ID, compute.Purge{}, storetest.Operator())
			in.must(err)
		}
	}
}
