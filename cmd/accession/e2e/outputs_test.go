package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain/entry"
)

// TestOutputsOverHTTP: a worker puts outputs under its lease, which become part of the result;
// those of a lease that has ended otherwise are refused and not kept. Who sees the queue
// reads them.
func TestOutputsOverHTTP(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0", "upload_limit=102400")
	olga, ana, rita := in.keyOf("olga", "operator", "--all"), in.keyOf("ana", "depositor", "--all"), in.keyOf("rita", "reader", "--all")
	d := in.doorOf(in.serveInProcess(run.RoleHTTP))
	take := func(key string) (w leases.Work) {
		t.Helper()
		in.says(0, []string{"compute", "submit", "--dataset", "tides", "--input", "https://data.example.org/a.nc", "--key", key})
		d.ask(olga, "POST", "/v1/compute/claims", `{"worker":"node7","wait":20,"lease":600}`).into(d, &w)
		if w.Token == "" {
			t.Fatalf("%+v", w)
		}
		return w
	}
	put := func(caller string, w leases.Work, name, body string, headers ...string) answer {
		t.Helper()
		return d.ask(caller, "PUT", "/v1/compute/claims/"+w.Token+"/outputs/"+name, body, append([]string{"Content-Type: application/octet-stream"}, headers...)...)
	}
	end := func(w leases.Work, verb, body string) {
		t.Helper()
		d.ask(olga, "POST", "/v1/compute/claims/"+w.Token+"/"+verb, body).into(d, new(leases.Lease))
	}
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "Repr-Digest: sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	}

	w := take("1")
	put(ana, w, "a.txt", "one").is(d, http.StatusForbidden, "forbidden")
	put(olga, w, "a.txt", "one", digest("two")).is(d, http.StatusBadRequest, "invalid")
	put(olga, w, "a.txt", "one", "Repr-Digest: md5=:AAAA:").is(d, http.StatusBadRequest, "invalid")
	put(olga, w, ".hidden", "one").is(d, http.StatusBadRequest, "invalid")
	put(olga, w, "large", strings.Repeat("x", 100<<10+1)).is(d, http.StatusBadRequest, "invalid")
	put(olga, leases.Work{Token: "none"}, "a.txt", "one").is(d, http.StatusBadRequest, "invalid")
	other, _, _ := strings.Cut(w.Token, ".")
	put(olga, leases.Work{Token: other + ".guessed"}, "a.txt", "one").is(d, http.StatusConflict, "refused")
	var out entry.Output
	put(olga, w, "a.txt", "zero").into(d, &out)
	for range 2 {
		put(olga, w, "a.txt", "one", digest("one")).into(d, &out)
		if want := (entry.Output{Name: "a.txt", Size: 3, SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte("one")))}); out != want {
			t.Errorf("%+v, want %+v", out, want)
		}
	}
	put(olga, w, "b.txt", "").into(d, &out)
	end(w, "complete", `{"result":{"bytes":25}}`)
	end(w, "complete", `{"result":{"bytes":25}}`)
	put(olga, w, "a.txt", "one").into(d, &out)
	put(olga, w, "a.txt", "zero").is(d, http.StatusConflict, "refused")
	put(olga, w, "c.txt", "one").is(d, http.StatusConflict, "refused")

	var shown entries.Work
	d.ask(rita, "GET", "/v1/compute/entries/"+w.Entry, "").into(d, &shown)
	if all := shown.Result.Outputs; len(all) != 2 || all[0].Name != "a.txt" || all[1] != (entry.Output{Name: "b.txt", SHA256: fmt.Sprintf("%x", sha256.Sum256(nil))}) {
		t.Errorf("the outputs are %+v", all)
	}
	path := "/v1/compute/entries/" + w.Entry + "/outputs/"
	if a := d.ask(rita, "GET", path+"a.txt", ""); a.status != http.StatusOK || a.body != "one" || "Repr-Digest: "+a.header.Get("Repr-Digest") != digest("one") ||
		a.header.Get("Content-Disposition") != "attachment; filename=a.txt" {
		t.Errorf("%d %s %v", a.status, a.body, a.header)
	}
	if a := d.ask(rita, "GET", path+"a.txt", "", "Range: bytes=1-"); a.status != http.StatusPartialContent || a.body != "ne" {
		t.Errorf("%d %s", a.status, a.body)
	}
	d.ask(rita, "GET", path+"c.txt", "").is(d, http.StatusNotFound, "not_found")
	d.ask(ana, "GET", path+"a.txt", "").is(d, http.StatusForbidden, "forbidden")
	in.says(0, []string{"compute", "show", w.Entry}, "output a.txt, 3 B, sha256 ")
	for _, to := range [][]string{nil, {"--out", "-"}} {
		if text := in.says(0, append([]string{"compute", "output", w.Entry, "a.txt"}, to...)); text != "one" {
			t.Errorf("%v: the output is %q", to, text)
		}
	}

	// What a lease without a result has put is refused from then on, and is in no result.
	w = take("2")
	put(olga, w, "a.txt", "one").into(d, &out)
	end(w, "fail", `{"class":"content","message":"no header","never":true}`)
	put(olga, w, "a.txt", "one").is(d, http.StatusConflict, "refused")
	d.ask(rita, "GET", "/v1/compute/entries/"+w.Entry+"/outputs/a.txt", "").is(d, http.StatusNotFound, "not_found")
	w = take("3")
	d.send(olga, "PUT", "/v1/compute/claims/"+w.Token+"/outputs/slow", io.MultiReader(strings.NewReader(strings.Repeat("x", 64<<10)), readerFunc(func([]byte) (int, error) {
		waitFor(t, "the output to come", func() bool {
			writing, err := filepath.Glob(filepath.Join(in.cfg.WorkDir, "outputs", w.Entry, "*", ".*"))
			return err == nil && len(writing) == 1
		})
		end(w, "fail", `{"class":"content","message":"no header","never":true}`)
		return 0, io.EOF
	})), "Content-Type: application/octet-stream").is(d, http.StatusConflict, "refused")
	in.serveInProcess(run.RoleDaemons)
	waitFor(t, "what no entry has to be removed", func() bool {
		_, err := os.Stat(filepath.Join(in.cfg.WorkDir, "outputs", w.Entry))
		return os.IsNotExist(err)
	})
	if a := d.ask(rita, "GET", path+"a.txt", ""); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}

	if all, done := in.count("select count(*) from record.audit_entry where action = 'compute.put'"),
		in.count("select count(*) from record.audit_entry where action = 'compute.put' and outcome = 'done' and subject like 'entry/eid%'"); all != 17 || done != 6 {
		t.Errorf("the audit has %d puts and %d that are done, want 17 and 6", all, done)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
