package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	checked "github.com/accession-ingest/accession/domain/text"
)

const secret = "S3CRET0F4NA"

// The query of a payload's URL, which may be all that stands between a stranger and
// the file, is sent to its server and seen nowhere else: not in an event, a node, a table,
// a log, a report, a mail, an answer, a metric or what a command writes.
// Shows: P14 P15
func TestQueriesOfURLsAreSeenNowhere(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "log_level=debug", "listen_ops=127.0.0.1:0")
	shop := newShop(t)
	s := in.serveInProcess()
	log, stop := s.log, s.stop

	var shown []any
	submit := func(d app.Deposit) domain.BatchID {
		d.Profile, d.Submitter = "test", "tester"
		s, err := in.app.Submit(in.ctx(), d)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, s)
		return s.Batch
	}
	batches := []domain.BatchID{
		submit(app.Deposit{Payload: shop.signed("/single.txt"), Title: "single"}),
		submit(app.Deposit{Payload: shop.signed("/object.checkm"), Type: domain.TypeObjectManifest, Title: "object"}),
		submit(app.Deposit{Payload: shop.signed("/objects.checkm"), Type: domain.TypeBatchManifest, Title: "objects"}),
		submit(app.Deposit{Payload: shop.signed("/files.checkm"), Type: domain.TypeFileBatchManifest, Title: "files"}),
	}
	hostile := submit(app.Deposit{Payload: shop.signed("/hostile.checkm"), Type: domain.TypeFileBatchManifest, Title: "hostile"})
	for _, id := range batches[:3] {
		if v := in.rest(id); v.Status != "completed" {
			t.Errorf("%s: %+v", id, v)
		}
	}
	v := in.rest(batches[3])
	if len(v.Jobs) != 2 || outcome(v.Jobs[0]) != "files completed" || outcome(v.Jobs[1]) != "files failed http_status" {
		for _, j := range v.Jobs {
			t.Error(outcome(j))
		}
		t.Fatalf("the attempts that failed: %+v", v.Retries)
	}
	var ends []string
	for _, j := range in.rest(hostile).Jobs {
		ends = append(ends, strings.TrimPrefix(outcome(j), "hostile "))
	}
	if got := strings.Join(ends, ", "); got != "title completed, failed row_fault, failed row_fault, failed redirect_refused, failed ark_invalid" {
		t.Errorf("the hostile deposit ended so: %s", got)
	}
	batches = append(batches, hostile)
	if url := v.Jobs[1].PayloadUrl; !strings.HasPrefix(url, shop.base+"/late.txt?redacted=") {
		t.Errorf("the job's URL is shown as %s", url)
	}

	places := in.places(s, batches)

	// A job that is sent back still finds its whole URL.
	close(shop.late)
	end, err := in.app.LogEnd(in.ctx())
	if err != nil {
		t.Fatal(err)
	}
	moved, err := in.app.Requeue(in.ctx(), domain.JobID(v.Jobs[1].ID), "it was found")
	if err != nil {
		t.Fatal(err)
	}
	shown = append(shown, moved)
	in.until(end+1, domain.EventJobCompleted)
	in.agree()
	places = append(places, in.places(s, batches)...)
	stop()

	shown = append(shown, in.answers(batches)...)
	in.unseen(log.String(), shown, places)

	log = in.serveInProcess().log
	in.commandsAreSilent(shop.signed("/objects.checkm"))
	if strings.Contains(log.String(), secret) {
		t.Error("the log of a service beside the commands holds the secret")
	}
}

// shop is a server that serves only those who know the secret, and one file late.
type shop struct {
	base string
	late chan struct{}
}

func newShop(t *testing.T) *shop {
	s := &shop{late: make(chan struct{})}
	s.base = webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("token") != secret {
			http.Error(rw, "who are you?", http.StatusForbidden)
			return
		}
		switch r.URL.Path {
		case "/object.checkm":
			s.manifest(rw, "mrt-ingest-manifest", "/a.txt", "/b.txt")
		case "/objects.checkm":
			s.manifest(rw, "mrt-batch-manifest", "/object.checkm")
		case "/files.checkm":
			s.manifest(rw, "mrt-single-file-batch-manifest", "/c.txt", "/late.txt")
		case "/hostile.checkm":
			// Each row has what a terminal obeys, a reader does not see, or a server must not tell.
			fmt.Fprintf(rw, "#%%checkm_0.7\n#%%profile | mrt-single-file-batch-manifest\n#%%col\u202eumns\n")
			for _, row := range []string{
				"/a.txt | | | | \u200b1998 | a.txt | | id;id | c\u2066reator | t\u202eit\u200ble",
				"/b.txt | | | | | b\u202e.txt", "/c.txt | | | | | c.txt | | | | \u009b2J\x1b[2J",
				"/away.txt | | | | | d.txt", "/e.txt | | | | | e.txt | ark:/99999/../../x"} {
				path, rest, _ := strings.Cut(row, " ")
				fmt.Fprintln(rw, s.signed(path)+" "+rest)
			}
			fmt.Fprintf(rw, "#%%eof\n")
		case "/away.txt":
			rw.Header()["Location"] = []string{"http://u:" + secret + "@%zz/\u009b?token=" + secret}
			rw.WriteHeader(http.StatusFound)
		case "/late.txt":
			select {
			case <-s.late:
			default:
				http.NotFound(rw, r)
				return
			}
			fallthrough
		default:
			fmt.Fprintln(rw, "the text of", r.URL.Path)
		}
	}))
	return s
}

func (s *shop) signed(path string) string { return s.base + path + "?token=" + secret }

func (s *shop) manifest(rw http.ResponseWriter, profile string, paths ...string) {
	fmt.Fprintf(rw, "#%%checkm_0.7\n#%%profile | http://uc3.cdlib.org/registry/ingest/manifest/%s\n", profile)
	for _, p := range paths {
		fmt.Fprintln(rw, s.signed(p))
	}
	fmt.Fprintf(rw, "#%%eof\n")
}

// answers asks the use cases for all that they show of the batches.
func (in *installation) answers(batches []domain.BatchID) (all []any) {
	in.t.Helper()
	add := func(v any, err error) {
		in.t.Helper()
		if err != nil {
			in.t.Fatal(err)
		}
		all = append(all, v)
	}
	for _, id := range batches {
		v, err := in.app.BatchReport(in.ctx(), id, 1000)
		add(v, err)
		b, err := in.app.Batch(in.ctx(), id, 1000)
		add(b, err)
		for _, j := range v.Jobs {
			one, err := in.app.Job(in.ctx(), domain.JobID(j.ID))
			add(one, err)
			files, err := in.app.Files(in.ctx(), app.FileFilter{Job: domain.JobID(j.ID), Limit: 100}, "", "")
			add(files, err)
		}
	}
	for e, err := range in.app.Tail(in.ctx(), app.TailOptions{Selection: app.Selection{From: 1}}) {
		add(e, err)
	}
	return all
}

// unseen fails the test where the secret is found, but for the two places whose purpose is to
// hold it: the table of URLs, and the depositors' own manifests.
func (in *installation) unseen(log string, answers []any, places []place) {
	in.t.Helper()
	kept := 0
	in.unseenAnywhere([]string{secret}, log, answers, places, func(kind, where, text string) bool {
		if kind == "row" && where == "record.payload_url" {
			kept += strings.Count(text, secret)
			return true
		}
		return kind == "file" && strings.HasPrefix(where, filepath.Join(in.cfg.Store, "manifests")+string(filepath.Separator))
	})
	if kept == 0 {
		in.t.Error("record.payload_url holds no URL: this test looks for something that was never there")
	}
}

// unseenAnywhere fails the test where a secret is found: in the log, in answers, in other
// places, in the raw messages of the stream, in any row of any table, in any file, but for
// what may hold it.
func (in *installation) unseenAnywhere(secrets []string, log string, answers []any, places []place, may func(kind, where, text string) bool) {
	in.t.Helper()
	looked := map[string]int{}
	look := func(kind, where, text string) {
		if may(kind, where, text) {
			return
		}
		looked[kind]++
		for _, one := range secrets {
			if i := strings.Index(text, one); i >= 0 {
				in.t.Errorf("%s %s holds the secret %.12s: …%s…", kind, where, one, text[max(0, i-200):i+len(one)])
			}
		}
		if i := strings.IndexFunc(text, func(r rune) bool {
			return checked.KindOf(r) != checked.Plain && !strings.ContainsRune("\n\r\t", r)
		}); i >= 0 {
			in.t.Errorf("%s %s holds what is no text: …%q…", kind, where, text[max(0, i-100):min(i+20, len(text))])
		}
	}
	look("log", "", log)
	for _, a := range answers {
		data, err := json.Marshal(a)
		if err != nil {
			in.t.Fatal(err)
		}
		look("answer", fmt.Sprintf("%T", a), string(data)+fmt.Sprintf("%+v", a))
	}
	for _, p := range places {
		look(p.kind, p.where, p.text)
	}
	in.eachMessage(func(seq uint64, data string) { look("message", fmt.Sprint(seq), data) })
	in.eachRow(func(table, row string) { look("row", table, row) })
	err := filepath.WalkDir(in.cfg.DataDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		look("file", path, string(data))
		return err
	})
	if err != nil {
		in.t.Error(err)
	}
	for kind, least := range map[string]int{"answer": 10, "message": 10, "row": 10, "file": 10, "node": 10, "page": 6, "HTTP answer": 10} {
		if looked[kind] < least {
			in.t.Errorf("only %d of kind %s were looked at", looked[kind], kind)
		}
	}
}

// eachMessage reads the stream as any NATS client would.
func (in *installation) eachMessage(do func(seq uint64, data string)) {
	in.t.Helper()
	nc, err := nats.Connect(in.cfg.NATS[0])
	if err != nil {
		in.t.Fatal(err)
	}
	closed := make(chan struct{})
	nc.SetClosedHandler(func(*nats.Conn) { close(closed) })
	defer func() { nc.Close(); <-closed }()
	js, err := jetstream.New(nc)
	if err != nil {
		in.t.Fatal(err)
	}
	stream, err := js.Stream(in.ctx(), in.cfg.NATSStream)
	if err != nil {
		in.t.Fatal(err)
	}
	state := stream.CachedInfo().State
	for seq := state.FirstSeq; seq <= state.LastSeq; seq++ {
		m, err := stream.GetMsg(in.ctx(), seq)
		if err != nil {
			in.t.Fatal(err)
		}
		do(seq, fmt.Sprint(m.Subject, m.Header, string(m.Data)))
	}
}

// eachRow reads all tables and views of the database.
func (in *installation) eachRow(do func(table, row string)) {
	in.t.Helper()
	pool, err := in.wired.Pool(in.ctx())
	if err != nil {
		in.t.Fatal(err)
	}
	list := func(query string) (all []string) {
		in.t.Helper()
		rows, err := pool.Query(in.ctx(), query)
		if err != nil {
			in.t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				in.t.Fatal(err)
			}
			all = append(all, s)
		}
		if err := rows.Err(); err != nil {
			in.t.Fatal(err)
		}
		return all
	}
	for _, table := range list(`select table_schema || '.' || table_name from information_schema.tables
		where table_schema in ('accession', 'report', 'record')`) {
		for _, row := range list("select to_jsonb(t)::text from " + table + " t") {
			do(table, row)
		}
	}
}
