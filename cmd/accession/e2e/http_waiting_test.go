package e2e

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
)

// TestManyDepositsWait has 200 deposits of one user wait.
// Shows: P8
func TestManyDepositsWait(t *testing.T) {
	t.Parallel()
	depositsWait(t, 200, "waiting_limit=200")
}

// depositsWait: as many deposits of a user wait as may. One more is refused, by URL and as a
// file, of which nothing is asked for. Once one is done there is room again.
func depositsWait(t *testing.T, most int, settings ...string) {
	in := newInstallation(t, append(settings, "queue_concurrency=metadata=1")...)
	d, payload := in.door(), goodServer(t)+"/a.txt"
	in.says(0, words("queue pause ingest --reason full"))
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range most / 50 {
				if _, err := in.app.Submit(in.ctx(), app.Deposit{Profile: "test", Submitter: "ana", Payload: payload, Type: domain.TypeFile}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	const ana = "ana depositor/test"
	deposit := fmt.Sprintf(`{"profile":"test","url":%q,"type":"file"}`, payload)
	full := d.ask(ana, "POST", "/v1/submissions", deposit).is(d, http.StatusTooManyRequests, app.Full)
	if want := fmt.Sprintf("%d of your deposits wait, and at most %[1]d may", most); full.header.Get("Retry-After") == "" || !strings.Contains(full.Detail, want) {
		t.Errorf("%v %s", full.header, full.Detail)
	}
	for _, path := range []string{"/v1/uploads", "/v1/uploads/synchronous"} {
		if got := d.expects(ana, path); got != "429 Too Many Requests" {
			t.Errorf("%s to whom too many wait: %s before the file is sent", path, got)
		}
		if got := d.expects("ben depositor/test", path); got != "100 Continue" {
			t.Errorf("%s to whom none waits: %s before the file is sent", path, got)
		}
	}
	handler, err := in.app.Open.Handler(in.ctx())
	in.must(err)
	in.serveInProcess()
	in.says(0, words("queue resume ingest"))
	waitFor(t, "one of them to be done", func() bool {
		waiting, err := handler.Rings.Waiting(in.ctx(), fair.QueueMetadata, "ana")
		in.must(err)
		return len(waiting) < most
	})
	if a := d.ask(ana, "POST", "/v1/submissions", deposit); a.status != http.StatusAccepted {
		t.Errorf("once one is done: %d %s", a.status, a.body)
	}
}

// expects announces a large file, and returns the status that comes before it is sent.
func (d *door) expects(key, path string) string {
	t := d.in.t
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	d.in.must(err)
	defer c.Close()
	_, err = fmt.Fprintf(c, "POST %s?profile=test&name=large.bin HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n", path, key)
	d.in.must(err)
	line, err := bufio.NewReader(c).ReadString('\n')
	d.in.must(err)
	return strings.TrimSpace(strings.TrimPrefix(line, "HTTP/1.1 "))
}
