package e2e

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/run"
)

// takesArticles lets the profile take files of the recordings' kind.
const takesArticles = `metadata: [{root: "{http://www.crossref.org/schema/5.3.1}doc_batch", record: body/journal/journal_article, identifier: doi_data/doi, title: titles/title}]
`

const wellReceived = "Your batch submission was successfully received."

// recorded returns a request of testdata/forms.
func recorded(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "forms", name+".http"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// replay sends bytes as they are, and returns the answer.
func (d *door) replay(request []byte) (a answer) {
	d.in.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	d.in.must(err)
	defer c.Close()
	d.in.must(c.SetDeadline(time.Now().Add(patience)))
	_, err = c.Write(request)
	d.in.must(err)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	d.in.must(err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	d.in.must(err)
	return answer{status: res.StatusCode, header: res.Header, body: string(data)}
}

// withPassword sets the password of a user.
func (in *installation) withPassword(user, password string) {
	in.t.Helper()
	p := &people.People{Records: in.records(), Cost: people.Cost{MemoryKiB: 64, Passes: 1, Lanes: 1}}
	_, err := p.SetPassword(in.ctx(), people.By{Name: "test"}, user, password, "")
	in.must(err)
}

// diagnostic is a doc_batch_diagnostic.
type diagnostic struct {
	Status     string `xml:"status,attr"`
	Submission string `xml:"submission_id"`
	Batch      string `xml:"batch_id"`
	Records    []struct {
		Status     string `xml:"status,attr"`
		Identifier string `xml:"doi"`
		Message    string `xml:"msg"`
	} `xml:"record_diagnostic"`
	Success int `xml:"batch_data>success_count"`
	Warning int `xml:"batch_data>warning_count"`
	Failure int `xml:"batch_data>failure_count"`
}

// diagnosed returns the diagnostic that a request is answered with.
func (d *door) diagnosed(request []byte, status int) (g diagnostic) {
	d.in.t.Helper()
	a := d.replay(request)
	if err := xml.Unmarshal([]byte(a.body), &g); err != nil || a.status != status || !strings.HasPrefix(a.header.Get("Content-Type"), "text/xml") {
		d.in.t.Fatalf("%d %s (%v)", a.status, a.body, err)
	}
	return g
}

// merritts are the recorded requests of clients that know only Merritt's forms, in the order in
// which they are sent, with what is to become of each. What lists files that are elsewhere
// becomes a job; whether that finds them is not ours.
var merritts = []struct{ name, answer, batch, job string }{
	{"object-ingest", "application/json", "container_batch_manifest add harbour.checkm", "The northern pier [harbour-north]"},
	{"object-ingest-file", "text/xml; charset=utf-8", "file add letter.txt", "A letter [letter-7 harbour/7] completed as version 1"},
	{"object-update", "text/x-anvl; charset=utf-8", "file update letter.txt", " [] completed as version 1"},
	{"object-ingest-library", "application/json", "object_manifest add mrt-ingest20261127-13342-z3nh3m", "Tides [harbour-8]"},
	{"object-ingest-container", "text/xml; charset=utf-8", "container add letters.zip", " [] completed as version 1"},
	{"object-ingest-manifest", "text/xml; charset=utf-8", "object_manifest add object.checkm", " []"},
	{"object-ingest-objects", "text/xml; charset=utf-8", "batch_manifest add objects.checkm", "The northern pier [harbour-north]"},
	{"object-update-files", "text/xml; charset=utf-8", "file_batch_manifest update files.checkm", "The northern pier [harbour-north]"},
	{"poster-submit", "application/json", "container_batch_manifest add harbour.checkm", "The northern pier [harbour-north]"},
	{"poster-manifest", "application/json", "object_manifest add object.checkm", " [harbour-8]"},
	{"poster-batch-manifest", "application/json", "batch_manifest add objects.checkm", "The northern pier [harbour-north]"},
	{"poster-files", "application/json", "file_batch_manifest add files.checkm", "The northern pier [harbour-north]"},
	{"poster-container", "application/json", "container add letters.zip", " [harbour-4 harbour-5] completed as version 1"},
	{"poster-objects", "application/json", "batch_manifest add objects.checkm", "The northern pier [harbour-north]"},
	{"poster-update-files", "application/json", "file_batch_manifest update files.checkm", "The northern pier [harbour-north]"},
	{"poster-update", "text/xml; charset=utf-8", "file update letter.txt", "A letter [letter-7] completed as version 2"},
}

// merritt replays them, and compares their answers and what became of them.
func (d *door) merritt(key string) {
	in := d.in
	in.t.Helper()
	at := map[string]string{}
	for _, m := range merritts {
		request, err := os.ReadFile(filepath.Join("..", "..", "internal", "forms", "testdata", m.name+".http"))
		in.must(err)
		a := d.replay(request)
		at[m.name] = a.header.Get("Location")
		id, ok := strings.CutPrefix(at[m.name], "/v1/uploads/")
		if a.status != http.StatusOK || !ok || a.header.Get("Content-Type") != m.answer || !strings.Contains(a.body, id) || !strings.Contains(a.body, "QUEUED") {
			in.t.Fatalf("%s: %d %v %s", m.name, a.status, a.header, a.body)
		}
	}
	for _, m := range merritts {
		var sent drops.Shown
		waitFor(in.t, m.name+" to be transferred", func() bool {
			d.ask(key, http.MethodGet, at[m.name], "").into(d, &sent)
			return sent.State == drops.Transferred
		})
		if strings.Contains(m.job, "completed") {
			in.rest(sent.Batch)
		}
		var batch, job string
		waitFor(in.t, "the job of "+m.name, func() bool {
			return in.db.QueryRow(in.ctx(), `
				select concat_ws(' ', b.type, b.submission_mode, b.file_name), j.erc_what || ' [' || coalesce(array_to_string(j.local_id, ' '), '') || ']'
					|| case when j.status = 'completed' then ' completed as version ' || j.object_version else '' end
				from accession.batch b join accession.job j on j.batch_id = b.id
				where b.id = $1 and b.submitter = 'ana' and b.profile_name = 'test'`, sent.Batch).Scan(&batch, &job) == nil
		})
		if batch != m.batch || job != m.job {
			in.t.Errorf("%s became %q, %q, want %q, %q", m.name, batch, job, m.batch, m.job)
		}
	}
	in.says(0, []string{"audit", "ls", "--limit", "100", "-o", "json"}, `"action": "form.object-ingest"`, `"action": "form.object-update"`, `"action": "form.poster-submit"`, `"action": "form.poster-update"`)
}

// TestRecordedForms replays recorded requests of clients that know only Crossref's forms, or
// only Merritt's: deposits, a query, what became of them.
// Shows: P1
func TestRecordedForms(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0", "transfer_interval=50ms")
	in.editProfile("fetch:", takesArticles+"fetch:")
	ana := in.keyOf("ana", "depositor", "--collection", "test")
	in.withPassword("ana", "correct horse battery")
	d := in.doorOf(in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...))
	for _, name := range []string{"deposit", "deposit-url", "python-deposit", "query", "doi-query"} {
		if a := d.replay(recorded(t, name)); a.status != http.StatusOK || !strings.Contains(a.body, wellReceived) {
			t.Fatalf("%s: %d %s", name, a.status, a.body)
		}
	}
	for name, want := range map[string]string{"status": "tides-2026-11 1 1 0", "status-file": " 1 1 0", "status-query": " 0 2 0",
		"python-batch": "tides-2026-11 1 1 0", "python-file": " 1 1 0", "ojs-status": "tides-2026-11 1 1 0"} {
		var g diagnostic
		waitFor(t, "the end of "+name, func() bool {
			g = d.diagnosed(recorded(t, name), http.StatusOK)
			if g.Status != "queued" && g.Status != "in_process" && g.Status != "completed" {
				t.Fatalf("%s: %+v", name, g)
			}
			return g.Status == "completed"
		})
		if got := fmt.Sprint(g.Batch, " ", g.Success, " ", g.Warning, " ", g.Failure); got != want {
			t.Errorf("%s: %q, want %q: %+v", name, got, want, g)
		}
		if name == "status" && (len(g.Records) != 2 || g.Records[0].Status != "Warning" || g.Records[0].Identifier != "10.5555/tides-south" || g.Records[1].Identifier != "10.5555/tides-north") {
			t.Errorf("%+v", g.Records)
		}
	}
	for _, name := range []string{"synchronous", "ojs-deposit"} {
		if g := d.diagnosed(recorded(t, name), http.StatusOK); g.Status != "completed" || g.Success != 1 || g.Batch != "tides-2026-11" {
			t.Errorf("%s: %+v", name, g)
		}
	}
	late := bytes.Replace(recorded(t, "synchronous"), []byte("Accept:"), []byte("Prefer: wait=1\r\nAccept:"), 1)
	in.says(0, []string{"queue", "pause", "pending", "--reason", "to look"})
	var waits diagnostic
	a := d.replay(late)
	if err := xml.Unmarshal([]byte(a.body), &waits); err != nil || a.status != http.StatusAccepted || waits.Status != "in_process" || !strings.HasPrefix(waits.Submission, "bid") || a.header.Get("Location") != "/v1/batches/"+waits.Submission {
		t.Errorf("%d %v %+v (%v)", a.status, a.header, waits, err)
	}
	in.says(0, []string{"queue", "resume", "pending"})
	// No synchronous deposit may run: it is refused, and the batches are as many as before.
	in.says(0, words("queue defaults metadata --synchronous 0 --reason busy"))
	if a := d.replay(recorded(t, "synchronous")); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" || !strings.Contains(a.body, " synchronous deposits run, of 0 that may") {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	if a := d.replay(recorded(t, "contents")); a.status != http.StatusOK || !bytes.Contains(recorded(t, "synchronous"), []byte(a.body)) || !strings.HasPrefix(a.body, "<?xml") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := d.replay(recorded(t, "unknown")); a.status != http.StatusOK || !strings.Contains(a.body, `<doc_batch_diagnostic status="unknown_submission"><submission_id>0</submission_id><batch_id />`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	for name, operation := range map[string]string{"citations": "doDOICitUpload", "transfer": "doTransferDOIsUpload"} {
		if a := d.replay(recorded(t, name)); a.status != http.StatusBadRequest || !strings.Contains(a.body, operation) {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	in.says(0, []string{"audit", "ls", "--limit", "100", "-o", "json"}, `"action": "form.deposit"`, `"action": "form.deposit-synchronous"`, `"outcome": "refused"`)
	d.merritt(ana)
}

// field is a field of a form; with a file name it is a file.
type field struct{ name, value, file string }

// post sends a form.
func (d *door) post(caller, path string, fields ...field) answer {
	d.in.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, f := range fields {
		var part io.Writer
		var err error
		if f.file == "" {
			part, err = w.CreateFormField(f.name)
		} else {
			part, err = w.CreateFormFile(f.name, f.file)
		}
		d.in.must(err)
		_, err = io.WriteString(part, f.value)
		d.in.must(err)
	}
	d.in.must(w.Close())
	return d.send(caller, http.MethodPost, path, &body, "Content-Type: "+w.FormDataContentType())
}

// TestFormsThatAreRefused: each with its status, and nothing of them is left.
func TestFormsThatAreRefused(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0", "waiting_limit=1", "upload_limit=4 KiB")
	in.editProfile("fetch:", takesArticles+"fetch:")
	ana, bob := in.keyOf("ana", "depositor", "--collection", "test"), in.keyOf("bob", "depositor", "--collection", "rocks")
	d := in.doorOf(in.serveInProcess(run.RoleHTTP))
	const path = "/servlet/deposit"
	user, password, op := field{name: "login_id", value: "ana"}, field{name: "login_passwd", value: ana}, field{name: "operation", value: "doMDUpload"}
	file := field{"fname", "<doc_batch/>", "a.xml"}
	for name, c := range map[string]struct {
		fields []field
		status int
		says   string
	}{
		"no user":             {[]field{op, file}, 401, "before the fields login_id"},
		"user behind file":    {[]field{op, file, user, password}, 401, "before the fields login_id"},
		"wrong key":           {[]field{user, {name: "login_passwd", value: ana[:len(ana)-1] + "0"}, file}, 401, "not valid"},
		"key of another":      {[]field{user, {name: "login_passwd", value: bob}, file}, 401, "not valid"},
		"no user and no file": {[]field{op}, 401, ""},
		"no right":            {[]field{{name: "usr", value: "bob"}, {name: "pwd", value: bob}, file}, 403, "no right to deposit"},
		"no right in it":      {[]field{{name: "usr", value: "bob"}, {name: "pwd", value: bob}, {name: "profile", value: "test"}, file}, 403, "in the collection test"},
		"no file":             {[]field{user, password, op}, 400, "no file"},
		"no file but a text":  {[]field{user, password, op, {name: "fname", value: "x"}}, 400, "is no file"},
		"unknown operation":   {[]field{user, password, {name: "operation", value: "doAll"}, file}, 400, `"doAll\" is not known`},
		"transfer":            {[]field{user, password, {name: "operation", value: "doTransferDOIsUpload"}, file}, 400, "is not served"},
		"unknown profile":     {[]field{user, password, {name: "profile", value: "sand"}, file}, 403, ""},
		"operation twice":     {[]field{user, password, op, {name: "operation", value: "doQueryUpload"}, file}, 400, "comes twice"},
		"operation behind":    {[]field{user, password, file, op}, 400, "after the file"},
		"two files":           {[]field{user, password, file, {"fname", "x", "b.xml"}}, 400, "second file"},
		"a long field":        {[]field{user, password, {name: "area", value: strings.Repeat("x", 9<<10)}, file}, 400, "more than 8192 bytes"},
		"many fields":         {append(make([]field, 70), user, password, file), 400, "more than 64 fields"},
		"a large file":        {[]field{user, password, {"fname", strings.Repeat("x", 5<<10), "a.xml"}}, 400, "larger"},
		"a bad name":          {[]field{user, password, {"fname", "x", ".."}}, 400, ""},
	} {
		if a := d.post("", path, c.fields...); a.status != c.status || !strings.Contains(a.body, c.says) {
			t.Errorf("%s: %d %s, want %d %q", name, a.status, a.body, c.status, c.says)
		}
	}
	d.ask(ana, http.MethodPost, path, "{}").is(d, 400, app.Invalid)
	d.send("", http.MethodPost, path, strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"fname\"; filename=\"a.xml\"\r\n\r\nab"), "Content-Type: multipart/form-data; boundary=b", "Authorization: Bearer "+ana).is(d, 400, app.Invalid)
	for _, end := range []string{"\r\n--b", "\r\n--b\r\n", "\r\n--b\r\nContent-Disposition: form-data; name=\"x", "\r\n--b\r\nContent-Disposition: form-data; name=\"x\"\r\n"} { // between two parts
		cut := "--b\r\nContent-Disposition: form-data; name=\"fname\"; filename=\"a.xml\"\r\n\r\nab" + end
		d.send("", http.MethodPost, path, strings.NewReader(cut), "Content-Type: multipart/form-data; boundary=b", "Authorization: Bearer "+ana).is(d, 400, app.Invalid)
	}
	const asks, encoded = "/servlet/submissionDownload", "Content-Type: application/x-www-form-urlencoded"
	for _, query := range []string{"", "file_name=a&type=all", "file_name=a&doc_batch_id=b", "doi_batch_id=a&doc_batch_id=b"} {
		d.ask(ana, http.MethodGet, asks+"?"+query, "").is(d, 400, app.Invalid)
		d.ask(ana, http.MethodPost, asks, query, encoded).is(d, 400, app.Invalid)
	}
	d.ask(ana, http.MethodPost, asks, "file_name=%zz", encoded).is(d, 400, app.Invalid)
	d.ask(ana, http.MethodPost, asks, "file_name=a&x="+strings.Repeat("x", 9<<10), encoded).is(d, 400, app.Invalid)
	d.ask(ana, http.MethodPost, asks, "{}", "Content-Type: application/json").is(d, 400, app.Invalid)
	d.ask("", http.MethodPost, asks, "file_name=a&usr=ana&pwd=wrong", encoded, "Authorization: ").is(d, 401, app.Unauthenticated)
	d.ask("", http.MethodGet, "/servlet/submissionDownload?file_name=a&usr=ana&pwd=wrong", "", "Authorization: ").is(d, 401, app.Unauthenticated)
	if all, err := filepath.Glob(filepath.Join(in.cfg.DropDir, "*", "*")); err != nil || len(all) != 0 {
		t.Errorf("left: %v (%v)", all, err)
	}
	if a := d.post("", path, user, password, file); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := d.post("", path, user, password, file).is(d, 429, app.Full); a.header.Get("Retry-After") == "" || !strings.Contains(a.Detail, "1 of your deposits wait, and at most 1 may") {
		t.Errorf("%v %s", a.header, a.Detail)
	}
	// It is seen by its depositor only.
	see := func(user, key string) string {
		return d.ask("", http.MethodGet, "/servlet/submissionDownload?file_name=a.xml&"+url.Values{"usr": {user}, "pwd": {key}}.Encode(), "", "Authorization: ").body
	}
	if text := see("ana", ana); !strings.Contains(text, `status="queued"`) {
		t.Error(text)
	}
	if text := see("bob", bob); !strings.Contains(text, "unknown_submission") {
		t.Error(text)
	}
}
