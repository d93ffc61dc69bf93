package e2e

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/internal/repocheck"
)

// sendsAForm: a process dies while it takes a metadata file by a form. What was answered is
// there once; what was not is not there, or once.
func sendsAForm(o *crashInstallation, point string) {
	o.n++
	if text, err := os.ReadFile(o.profileFile()); err != nil || !strings.Contains(string(text), takesArticles) {
		o.must(err)
		o.editProfile("fetch:", takesArticles+"fetch:")
	}
	user, at := "f"+o.number(), port(o.t)
	key, name := o.keyOf(user, "depositor", "--all"), "formed-"+o.number()+".xml"
	path := "/servlet/deposit"
	if strings.HasPrefix(point, "drop/spool/") {
		path = "/v2/deposits"
	}
	send := func() (status int, err error) {
		const head = "--part\r\nContent-Disposition: form-data; name=\"fname\"; filename=\""
		body := head + name + "\"\r\n\r\n<doc_batch xmlns=\"http://www.crossref.org/schema/5.3.1\"><head><doc_batch_id>" + name + "</doc_batch_id></head></doc_batch>\r\n--part--\r\n"
		r, err := http.NewRequestWithContext(o.ctx(), http.MethodPost, "http://"+at+path, strings.NewReader(body))
		o.must(err)
		r.Header.Set("Content-Type", "multipart/form-data; boundary=part")
		r.Header.Set("Prefer", "wait=1")
		r.SetBasicAuth(user, key)
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err == nil {
			status = res.StatusCode
			err = res.Body.Close()
		}
		return status, err
	}
	answered := 0
	o.dies(point, func(_ *os.Process, dead <-chan struct{}) {
		for {
			select {
			case <-dead:
				return
			case <-time.After(20 * time.Millisecond):
				if status, err := send(); err == nil && status < 300 {
					answered++
				}
			}
		}
	}, "serve", "--roles", "http", "--set", "listen_http="+at)
	unanswered := o.deaths()
	if path == "/servlet/deposit" {
		s := o.serve("--roles", "http", "--set", "listen_http="+at)
		waitFor(o.t, "the form to be accepted", func() bool {
			status, err := send()
			return err == nil && status == http.StatusOK
		})
		answered++
		s.stop()
	}
	o.emptied()
	if n := o.count(`select count(*) from accession.batch where file_name = $1`, name); n < answered || n > answered+unanswered {
		o.t.Errorf("%d batches of %d forms that were answered, after a death at %s", n, answered, point)
	}
}

// TestFormKilledAtEachStep: a process dies at each step of taking a file by a form.
// Shows: P1
func TestFormKilledAtEachStep(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, func(*crashInstallation) {})
	points, err := repocheck.Points(os.DirFS("../../.."))
	o.must(err)
	var way []string
	for _, p := range points {
		if strings.HasPrefix(p.Name, "drop/accept/") && !strings.HasPrefix(p.Name, "drop/accept/undo/") || strings.HasPrefix(p.Name, "record/form/") {
			way = append(way, p.Name)
		}
	}
	if len(way) < 12 {
		t.Errorf("only %d points", len(way))
	}
	for _, point := range thirdOf(t, way) {
		sendsAForm(o, point)
	}
	o.sound()
}
