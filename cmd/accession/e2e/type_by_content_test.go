package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// payloads are one of each kind that a URL may lead to: its content, its type, and how many files
// it has. Their URLs begin with base.
func (in *installation) payloads(base string) map[string]typedPayload {
	in.t.Helper()
	var tarred, gzipped bytes.Buffer
	tw := tar.NewWriter(&tarred)
	in.must(tw.WriteHeader(&tar.Header{Name: "tide.csv", Size: 5, Mode: 0o644}))
	_, err := tw.Write([]byte("a,b\n\n"))
	in.must(err)
	in.must(tw.Close())
	gw := gzip.NewWriter(&gzipped)
	_, err = gw.Write(tarred.Bytes())
	in.must(err)
	in.must(gw.Close())
	compressed := filepath.Join("..", "..", "internal", "unpack", "testdata")
	bzipped, err := os.ReadFile(filepath.Join(compressed, "box.tar.bz2"))
	in.must(err)
	zstandard, err := os.ReadFile(filepath.Join(compressed, "box.tar.zst"))
	in.must(err)
	records, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "samples", "files", "metadata", "records.xml"))
	in.must(err)
	return map[string]typedPayload{
		"letter": {[]byte("Dear all,\n"), domain.TypeFile}, "zip": {zipOf(in.t, map[string]string{"a.txt": "a\n"}), domain.TypeContainer}, "tar": {tarred.Bytes(), domain.TypeContainer},
		"gzip": {gzipped.Bytes(), domain.TypeContainer}, "bzip2": {bzipped, domain.TypeContainer}, "zstd": {zstandard, domain.TypeContainer},
		"object":  {checkm("mrt-ingest-manifest", "", base+"/ranges/letter | | | | | letter.txt"), domain.TypeObjectManifest},
		"objects": {checkm("mrt-batch-manifest", "", base+"/ranges/object"), domain.TypeBatchManifest},
		"files":   {checkm("mrt-single-file-batch-manifest", "", base+"/ranges/letter"), domain.TypeFileBatchManifest},
		"boxes":   {checkm("mrt-container-batch-manifest", "", base+"/ranges/zip"), domain.TypeContainerBatchManifest},
		"records": {records, domain.TypeMetadata},
	}
}

type typedPayload struct {
	data []byte
	kind domain.SubmissionType
}

// TestTypeByContent: where the name of a URL does not say what is behind it, its first bytes do,
// whether its server knows ranges or not, and each kind of payload walks all the way through. What
// cannot be looked at is refused with how to go on, and its server is asked once.
func TestTypeByContent(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.editProfile("fetch:", "metadata: [{root: '{https://accession.test/ns/records}records', record: record, identifier: identifier, title: titles/title}]\nfetch:")
	var served atomic.Pointer[map[string]typedPayload]
	var away atomic.Int32
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		how, name, _ := strings.Cut(r.URL.Path[1:], "/")
		p, known := (*served.Load())[strings.TrimSuffix(strings.TrimSuffix(name, ".bin"), ".checkm")]
		switch {
		case how == "away":
			away.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
		case !known:
			http.NotFound(w, r)
		case how == "ranges":
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p.data))
		default: // it refuses ranges
			_, _ = w.Write(p.data)
		}
	}))
	payloads := in.payloads(base)
	served.Store(&payloads)
	in.serveInProcess()
	all := map[string]domain.BatchID{}
	submit := func(path string, want domain.SubmissionType) {
		t.Helper()
		s, err := in.app.Submit(in.ctx(), app.Deposit{Profile: "test", Submitter: "tester", Payload: base + path, Title: path})
		if err != nil || s.Type != want {
			t.Errorf("%s: type %q, %v; want %q", path, s.Type, err, want)
			return
		}
		all[path] = s.Batch
	}
	for name, p := range payloads {
		submit("/ranges/"+name, p.kind)
		submit("/whole/"+name+".bin", p.kind)
	}
	submit("/ranges/objects.checkm?token=s3cret", domain.TypeBatchManifest)
	for path, id := range all {
		if v := in.rest(id); v.Status != "completed" || len(v.Jobs) != 1 {
			t.Errorf("%s: %s with %d jobs", path, v.Status, len(v.Jobs))
		}
	}
	for url, says := range map[string]string{
		base + "/away/box": "503", base + "/ranges/none": "404", "http://" + closedPort(t) + "/box": "refuses connections", base + "/ranges/letter.checkm?token=s3cret": "does not begin as one",
		"http://10.0.0.1/box": "may not reach",
	} {
		_, err := in.app.Submit(in.ctx(), app.Deposit{Profile: "test", Submitter: "tester", Payload: url})
		known, is := err.(*app.Error) //nolint:errorlint // of which it is one
		if !is || known.Kind != app.Invalid || !strings.Contains(known.Error(), says) || !strings.Contains(known.Hint, "--type") || strings.Contains(known.Error(), "s3cret") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if n := away.Load(); n != 1 {
		t.Errorf("a server that is ill was asked %d times", n)
	}
	if _, err := in.app.Submit(in.ctx(), app.Deposit{Profile: "test", Submitter: "tester", Payload: base + "/ranges/files", LocalIDs: []string{"shelf 9"}}); err == nil || !strings.Contains(err.Error(), "batch") {
		t.Errorf("a batch has the name of one object: %v", err)
	}
	// With a type nothing is asked, and under a key the batch is there though its server is not.
	once := app.Deposit{Profile: "test", Submitter: "tester", Payload: base + "/ranges/object", Key: "once"}
	first, err := in.app.Submit(in.ctx(), once)
	in.must(err)
	served.Store(new(map[string]typedPayload))
	if again, err := in.app.Submit(in.ctx(), once); err != nil || again.Batch != first.Batch || again.Type != domain.TypeObjectManifest || !again.Again {
		t.Errorf("%+v, %v", again, err)
	}
	if s, err := in.app.Submit(in.ctx(), app.Deposit{Profile: "test", Submitter: "tester", Payload: base + "/away/box", Type: domain.TypeContainer}); err != nil || s.Type != domain.TypeContainer || away.Load() != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}
