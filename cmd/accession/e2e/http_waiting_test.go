package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/drop"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
)

// TestManyDepositsWait has as many deposits of one user wait as may wait without any setting:
// some in the deposit queue, the others in the drop folder, which is not transferred.
// Shows: P8
func TestManyDepositsWait(t *testing.T) {
	t.Parallel()
	depositsWait(t, 100, 9_900)
}

// depositsWait: as many deposits of a user wait as may, of which some are queued and some
// dropped. One more is refused, by URL and as a file, of which nothing is asked for. Once one is
// done there is room again.
func depositsWait(t *testing.T, queued, dropped int) {
	in := newInstallation(t, "queue_concurrency=metadata=1")
	d, payload, most := in.door(), goodServer(t)+"/a.txt", queued+dropped
	in.says(0, words("queue pause ingest --reason full"))
	in.says(0, words("drop stop --reason full"))
	d.drops(dropped)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range queued / 50 {
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
	const form = "Content-Type: multipart/form-data; boundary=b"
	for path, headers := range map[string][]string{"/v1/uploads?profile=test&name=large.bin": nil, "/v1/uploads/synchronous?profile=test&name=large.bin": nil,
		"/servlet/deposit?operation=doMDUpload": {form}, "/v2/deposits": {form}, "/object/ingest": {form}, "/object/update": {form}, "/poster/submit": {form}, "/poster/update": {form},
		resumables: {"Tus-Resumable: 1.0.0", "Upload-Length: 1000000", "Content-Type: application/offset+octet-stream", tusMetadata("profile=test", "filename=large.bin")}} {
		if got := d.expects(ana, path, headers...); got != "429 Too Many Requests" {
			t.Errorf("%s to whom too many wait: %s before the file is sent", path, got)
		}
		if got := d.expects("ben depositor/test", path, headers...); got != "100 Continue" {
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
		return len(waiting) < queued
	})
	if a := d.ask(ana, "POST", "/v1/submissions", deposit); a.status != http.StatusAccepted {
		t.Errorf("once one is done: %d %s", a.status, a.body)
	}
}

// drops lets deposits of ana wait in the drop folder: one that is accepted, and copies of it,
// each with an id of its own. The program reads them all.
func (d *door) drops(n int) {
	in := d.in
	in.t.Helper()
	if n == 0 {
		return
	}
	var sent drops.Shown
	d.send("ana depositor/test", http.MethodPost, "/v1/uploads?profile=test&name=a.txt", strings.NewReader("a letter")).into(d, &sent)
	from := in.kept()[0]
	described, err := os.ReadFile(filepath.Join(from, "deposit.json"))
	in.must(err)
	for range n - 1 {
		id, err := drop.NewID()
		in.must(err)
		to := filepath.Join(filepath.Dir(from), id)
		in.must(os.MkdirAll(filepath.Join(to, "payload"), 0o700))
		in.must(os.WriteFile(filepath.Join(to, "deposit.json"), bytes.ReplaceAll(described, []byte(sent.ID), []byte(id)), 0o600))
		in.must(os.Link(filepath.Join(from, "payload", "a.txt"), filepath.Join(to, "payload", "a.txt")))
	}
	folder, err := in.app.Open.Drop(false)
	in.must(err)
	read := map[string]bool{}
	for is, err := range folder.All(in.ctx()) {
		in.must(err)
		read[is.ID] = is.Submitter == "ana" && is.SHA256 == sent.SHA256 && is.Refused == nil
	}
	if len(read) != n || slices.Contains(slices.Collect(maps.Values(read)), false) {
		in.t.Fatalf("%d deposits are in the drop folder, want %d", len(read), n)
	}
}

// expects announces a large file, and returns the status that comes before it is sent.
func (d *door) expects(key, path string, headers ...string) string {
	t := d.in.t
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	d.in.must(err)
	defer c.Close()
	headers = append(headers, "Host: a", "Authorization: Bearer "+key, "Content-Length: 1000000", "Expect: 100-continue")
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\n%s\r\n\r\n", path, strings.Join(headers, "\r\n"))
	d.in.must(err)
	line, err := bufio.NewReader(c).ReadString('\n')
	d.in.must(err)
	return strings.TrimSpace(strings.TrimPrefix(line, "HTTP/1.1 "))
}
