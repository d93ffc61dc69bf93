package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
)

// TestOutputsAlthoughKilled: a process dies before or after it gives an output its name, lets a
// lease get no more of them, keeps the result that lists them, ends the lease, or removes what
// no entry has. The worker repeats what was not answered, and the entry has its outputs once.
func TestOutputsAlthoughKilled(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, nil)
	for _, point := range thirdOf(t, []string{"store/outputs/rename/before", "store/outputs/rename/after", "store/outputs/close/before", "store/outputs/close/after",
		"record/compute-result/keep/after", "zklive/deliver/multi/after", "store/outputs/remove/before", "store/outputs/remove/after"}) {
		putsOutputs(o, point)
	}
	s := o.serve()
	s.works()
	o.still()
	s.stop()
	o.verifies()
}

// putsOutputs: a worker over HTTP puts outputs, and the process that serves it, or the leader
// that removes what is left over, dies.
func putsOutputs(o *crashInstallation, point string) {
	name := "o" + strings.ReplaceAll(uuid.NewString(), "-", "")
	key, at := o.keyOf(name[:20], "operator", "--all"), port(o.t)
	handler, err := o.wired.Handler(o.ctx())
	o.must(err)
	take := func() (claim, id string) {
		secret := uuid.NewString()
		sum := sha256.Sum256([]byte(secret))
		taken, err := handler.LeaseEntry(o.ctx(), compute.Wants{Datasets: []string{name}}, eventstore.Lease{Worker: "them", SHA256: hex.EncodeToString(sum[:]), Timeout: time.Hour}, eventstore.Meta{Actor: "user/olga"})
		o.must(err)
		return "/v1/compute/claims/" + string(taken.State.ID) + "." + secret, string(taken.State.ID)
	}
	send := func(method, path, body, says string) (status int) {
		r, err := http.NewRequestWithContext(o.ctx(), method, "http://"+at+path, strings.NewReader(body))
		o.must(err)
		r.Header.Set("Authorization", "Bearer "+key)
		if method == http.MethodPost {
			r.Header.Set("Content-Type", "application/json")
		} else {
			sum := sha256.Sum256([]byte(says))
			r.Header.Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum[:])+":")
		}
		a, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			return 0
		}
		defer a.Body.Close()
		_, _ = io.Copy(io.Discard, a.Body) // the status says it
		return a.StatusCode
	}
	want := func(status int, method, path, body string) {
		o.t.Helper()
		if got := send(method, path, body, body); got != status {
			o.t.Errorf("%s: %s %s is answered with %d, want %d", point, method, path, got, status)
		}
	}
	web := []string{"serve", "--roles", "http", "--set", "listen_http=" + at}
	const done = `{"result":{"bytes":3}}`
	put := func(claim, body, says string) int { return send(http.MethodPut, claim+"/outputs/a.txt", body, says) }

	o.run("compute", "submit", "--dataset", name, "--input", "https://data.example.org/a.nc")
	claim, id := take()
	removes := strings.HasPrefix(point, "store/outputs/remove/") || strings.HasPrefix(point, "store/outputs/forget/")
	if !removes {
		o.dies(point, func(_ *os.Process, dead <-chan struct{}) {
			listens(at, dead)
			switch {
			case strings.HasPrefix(point, "store/outputs/undo/"):
				put(claim, "one", "two")
			case strings.HasPrefix(point, "store/outputs/left/"):
				put(claim, "one", "one")
				open, err := filepath.Glob(filepath.Join(o.cfg.WorkDir, "outputs", id, "*.open"))
				if o.must(err); len(open) == 1 {
					o.must(os.WriteFile(filepath.Join(open[0], ".half"), []byte("o"), 0o600))
				}
				send(http.MethodPost, claim+"/complete", done, "")
			case strings.HasPrefix(point, "store/outputs/close/"), !strings.HasPrefix(point, "store/"):
				put(claim, "one", "one")
				send(http.MethodPost, claim+"/complete", done, "")
			default:
				put(claim, "one", "one")
				put(claim, "one", "one")
			}
		}, web...)
	}
	s := o.serve(web[1:]...)
	listens(at, nil)
	if status := put(claim, "one", "one"); status != http.StatusOK && status != http.StatusConflict {
		o.t.Errorf("%s: the output is answered with %d", point, status)
	}
	if removes { // of an attempt that ends without a result
		want(http.StatusOK, http.MethodPost, claim+"/fail", `{"class":"content","message":"no header"}`)
		claim, _ = take()
	}
	want(http.StatusOK, http.MethodPut, claim+"/outputs/a.txt", "one")
	want(http.StatusOK, http.MethodPost, claim+"/complete", done)
	want(http.StatusOK, http.MethodPut, claim+"/outputs/a.txt", "one")
	want(http.StatusConflict, http.MethodPut, claim+"/outputs/a.txt", "two")
	s.stop()

	left := func() int {
		claims, err := filepath.Glob(filepath.Join(o.cfg.WorkDir, "outputs", id, "*"))
		o.must(err)
		return len(claims)
	}
	if removes {
		if n := left(); n != 2 {
			o.t.Errorf("%s: %d claims have outputs, want 2", point, n)
		}
		o.dies(point, nil, "serve")
	}
	s = o.serve()
	s.works()
	waitFor(o.t, "what no entry has to be removed", func() bool { return left() == 1 })
	s.stop()
	var shown struct {
		Result struct{ Outputs []struct{ Name string } }
	}
	o.must(json.Unmarshal([]byte(o.run("compute", "show", id, "-o", "json")), &shown))
	if all := shown.Result.Outputs; len(all) != 1 || all[0].Name != "a.txt" {
		o.t.Errorf("%s: the outputs are %+v", point, all)
	}
	if text := o.run("compute", "output", id, "a.txt"); text != "one" {
		o.t.Errorf("%s: the output is %q", point, text)
	}
}
