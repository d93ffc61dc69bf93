package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// broken are the manifests with which the parser is tested.
const broken = "../../../domain/manifest/testdata"

// troubled is a depositor's server on which everything goes wrong that can.
func troubled(t testing.TB) string {
	mux := http.NewServeMux()
	mux.Handle("/broken/", http.StripPrefix("/broken/", http.FileServer(http.Dir(broken))))
	mux.HandleFunc("/good.txt", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("good\n")) })
	mux.HandleFunc("/hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/stops", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		_, _ = w.Write([]byte("a beginning"))
		if r.Method == http.MethodGet {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	})
	mux.HandleFunc("/inside", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
	})
	var base string
	mux.HandleFunc("/mixed.checkm", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `#%%checkm_0.7
#%%profile | http://uc3.cdlib.org/registry/ingest/manifest/mrt-single-file-batch-manifest
#%%colour | blue
%[1]s/good.txt | | | | | one.txt | | | | one
%[1]s/missing.txt | | | | | two.txt | | | | two
gopher://example.org/3 | | | | | three.txt | | | | three
%[1]s/good.txt | md5 | 00000000000000000000000000000000 | | | four.txt | | | | four
%[1]s/good.txt | | | 7 | | five.txt | | | | five
%[1]s/good.txt | | | 5 | | six.txt | | | | six
#%%eof
`, base)
	})
	mux.HandleFunc("/coloured.checkm", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, manifestOf+"#%%colour | blue\n%[2]s/good.txt | | | | | one.txt\n#%%eof\n", "mrt-ingest-manifest", base)
	})
	mux.HandleFunc("/long-line.checkm", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, manifestOf+"%[2]s/good.txt?%[3]s | | | | | one.txt\n#%%eof\n", "mrt-batch-manifest", base, strings.Repeat("x", 64<<10))
	})
	mux.HandleFunc("/fields.checkm", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, manifestOf+"#%%fields | nfo:fileName | nfo:fileUrl\n%[2]s/good.txt | one.txt\n#%%eof\n", "mrt-batch-manifest", base)
	})
	base = webServer(t, mux)
	return base
}

// TestBadDepositsAreReported deposits everything at once: each bad one must be
// reported with a clear reason, and the good ones must complete.
// Shows: P1
func TestBadDepositsAreReported(t *testing.T) {
	t.Parallel()
	in := newImpatient(t)
	base := troubled(t)
	closed := closedPort(t)
	type expect struct {
		status string // of the batch
		code   string // of the batch, or of its only job
		noJobs bool
	}
	deposits := map[string]app.Deposit{}
	want := map[string]expect{}
	add := func(name string, d app.Deposit, e expect) {
		d.Title = name
		deposits[name], want[name] = d, e
	}
	files, err := filepath.Glob(broken + "/broken-*.checkm")
	if err != nil || len(files) < 8 {
		t.Fatalf("broken manifests: %v, %v", files, err)
	}
	for _, f := range files {
		name := filepath.Base(f)
		url := base + "/broken/" + name
		add("batch "+name, app.Deposit{Payload: url, Type: domain.TypeBatchManifest}, expect{"failed", "manifest_invalid", true})
		add("object "+name, app.Deposit{Payload: url, Type: domain.TypeObjectManifest}, expect{"failed", "manifest_invalid", false})
	}
	add("object with broken rows", app.Deposit{Payload: base + "/broken/object-broken.checkm", Type: domain.TypeObjectManifest},
		expect{"failed", "manifest_invalid", false})
	for _, name := range []string{"long-line.checkm", "fields.checkm"} {
		add("batch "+name, app.Deposit{Payload: base + "/" + name, Type: domain.TypeBatchManifest}, expect{"failed", "manifest_invalid", true})
		add("object "+name, app.Deposit{Payload: base + "/" + name, Type: domain.TypeObjectManifest}, expect{"failed", "manifest_invalid", false})
	}
	add("another type than its manifest", app.Deposit{Payload: base + "/broken/object.checkm", Type: domain.TypeBatchManifest},
		expect{"failed", "manifest_invalid", true})
	add("unreachable", app.Deposit{Payload: "http://" + closed + "/x.txt", Type: domain.TypeFile}, expect{"failed", "unreachable", false})
	add("unreachable manifest of a batch", app.Deposit{Payload: "http://" + closed + "/x.checkm", Type: domain.TypeBatchManifest}, expect{"failed", "unreachable", true})
	add("unreachable manifest of an object", app.Deposit{Payload: "http://" + closed + "/x.checkm", Type: domain.TypeObjectManifest}, expect{"failed", "unreachable", false})
	add("not there", app.Deposit{Payload: base + "/no.txt", Type: domain.TypeFile}, expect{"failed", "http_status", false})
	add("wrong digest", app.Deposit{Payload: base + "/good.txt", Digest: "md5:00000000000000000000000000000000"}, expect{"failed", "digest_mismatch", false})
	add("hanging server", app.Deposit{Payload: base + "/hangs", Type: domain.TypeFile}, expect{"failed", "timeout", false})
	add("server that stops in the middle", app.Deposit{Payload: base + "/stops", Type: domain.TypeFile}, expect{"failed", "timeout", false})
	add("redirect to a metadata service", app.Deposit{Payload: base + "/inside", Type: domain.TypeFile}, expect{"failed", "address_refused", false})
	add("an unknown line", app.Deposit{Payload: base + "/coloured.checkm", Type: domain.TypeObjectManifest}, expect{"completed", "", false})
	add("good", app.Deposit{Payload: base + "/good.txt", Digest: "md5:d7f986677d9f563bd1794b09d82206a3"}, expect{"completed", "", false})

	in.serveInProcess()
	ids := map[string]domain.BatchID{}
	for name, d := range deposits {
		ids[name] = in.submit(d)
	}
	mixed := in.submit(app.Deposit{Payload: base + "/mixed.checkm", Type: domain.TypeFileBatchManifest})
	says := messagesOf(t)
	if len(says) != len(want) {
		t.Errorf("testdata/bad_deposits.txt has %d deposits, want %d", len(says), len(want))
	}
	said := strings.NewReplacer(base, "SERVER", closed, "CLOSED")
	for name, e := range want {
		v := in.rest(ids[name])
		code, message, class := v.ReasonCode, v.ReasonMessage, v.ReasonClass
		if !e.noJobs && len(v.Jobs) == 1 {
			code, message, class = v.Jobs[0].ReasonCode, v.Jobs[0].ReasonMessage, v.Jobs[0].ReasonClass
		}
		got := expect{status: v.Status, noJobs: len(v.Jobs) == 0}
		if code != nil && v.Status != "completed" {
			got.code = *code
		}
		if got != e {
			t.Errorf("%s: got %+v, want %+v", name, got, e)
		}
		if text := said.Replace(deref(message)); text != says[name] {
			t.Errorf("%s: its message is not that of testdata/bad_deposits.txt:\n%s: %s", name, name, text)
		}
		if v.RowsListed == nil || *v.RowsListed != v.JobsCompleted+v.JobsFailed || e.noJobs != (*v.RowsListed == 0) {
			t.Errorf("%s does not add up: %+v", name, v.BatchSummary)
		}
		if e.status == "failed" && (class == nil || *class != "content" && *class != "timeout") {
			t.Errorf("%s: class %v: the depositor must act, not we", name, deref(class))
		}
	}
	in.mixed(mixed)
	mails := in.mails(mixed)
	if len(mails) != 1 {
		t.Fatalf("%d mails", len(mails))
	}
	in.reported(mixed, mails[0])
	in.agree()
	in.warned(mixed, "", mails[0], "line 3: #%colour is not known")
	coloured := ids["an unknown line"]
	in.warned(coloured, in.rest(coloured).Jobs[0].ID, in.mails(coloured)[0], "line 3: #%colour is not known")
}

// messagesOf returns what testdata/bad_deposits.txt has: the whole message of each bad deposit, of the
// batch or of its only job, in which the servers of the test are SERVER and CLOSED.
func messagesOf(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/bad_deposits.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, message, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		all[name] = message
	}
	return all
}

// warned checks that a manifest, the batch's or that of a job, has one warning, and that
// the report and the tables show it.
func (in *installation) warned(id domain.BatchID, job, mail, begins string) {
	in.t.Helper()
	if !strings.Contains(mail, begins) {
		in.t.Errorf("the report of %s has no warning %q:\n%s", id, begins, mail)
	}
	const warnings = "select count(*) from report.manifest_warning where batch_id = $1"
	if all, these := in.count(warnings, id), in.count(warnings+" and job_id = $2 and number = 1 and starts_with(warning, $3)", id, job, begins); all != 1 || these != 1 {
		in.t.Errorf("%s has %d warnings in SQL, and %d begin with %q", id, all, these, begins)
	}
}

// mixed checks the batch in which every row has another fate: it adds up by name.
func (in *installation) mixed(id domain.BatchID) {
	in.t.Helper()
	v := in.rest(id)
	got := map[string]string{}
	for _, j := range v.Jobs {
		got[j.ErcWhat] = outcome(j)
	}
	for title, want := range map[string]string{
		"one": "completed", "two": "failed http_status", "three": "failed row_fault",
		"four": "failed digest_mismatch", "five": "failed size_mismatch", "six": "completed",
	} {
		if got[title] != title+" "+want {
			in.t.Errorf("row %s: %q, want %q", title, got[title], want)
		}
	}
	if *v.RowsListed != 6 || v.JobsCompleted != 2 || v.JobsFailed != 4 || len(v.Retries) != 4 {
		in.t.Errorf("the mixed batch does not add up: %+v", v.BatchSummary)
	}
}

// closedPort returns an address where nothing listens.
func closedPort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func deref(s *string) string {
	if s == nil {
		return "none"
	}
	return *s
}
