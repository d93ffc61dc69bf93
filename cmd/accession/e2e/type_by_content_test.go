package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
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

// TestTypeByContent: what is behind a URL is what its first bytes say, whether its server knows ranges or not, and each kind of payload walks all the way
// through. Where they cannot be had an ending that tells counts, with a warning; without one the
// server is asked again, and then the batch fails and says why.
func TestTypeByContent(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.editProfile("fetch:", "metadata: [{root: '{https://accession.test/ns/records}records', record: record, identifier: identifier, title: titles/title}]\nfetch:")
	var payloads map[string]typedPayload
	var ill, away atomic.Int32
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		how, name, _ := strings.Cut(r.URL.Path[1:], "/")
		p, known := payloads[strings.TrimSuffix(name, path.Ext(name))]
		switch {
		case how == "ill" && ill.Add(1) == 1, how == "away" && away.Add(1) > 0:
			w.WriteHeader(http.StatusServiceUnavailable)
		case !known:
			http.NotFound(w, r)
		case how == "whole": // it refuses ranges
			_, _ = w.Write(p.data)
		default:
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p.data))
		}
	}))
	payloads = in.payloads(base)
	in.serveInProcess()
	all := map[string]domain.BatchID{}
	submit := func(d app.Deposit) domain.BatchID {
		t.Helper()
		d.Profile, d.Submitter, d.Payload = "test", "tester", base+d.Payload
		s, err := in.app.Submit(in.ctx(), d)
		if err != nil || s.Type != d.Type {
			t.Fatalf("%s: type %q, %v", d.Payload, s.Type, err)
		}
		return s.Batch
	}
	for name := range payloads {
		for _, url := range []string{"/ranges/" + name, "/whole/" + name + ".bin", "/ranges/" + name + ".txt", "/whole/" + name + ".tgz"} {
			if name == "letter" && path.Ext(url) == ".tgz" {
				continue // its name contradicts it
			}
			all[url] = submit(app.Deposit{Payload: url})
		}
	}
	all["/ill/zip"], all["/ranges/objects.checkm"] = submit(app.Deposit{Payload: "/ill/zip"}), submit(app.Deposit{Payload: "/ranges/objects.checkm?token=s3cret"})
	for url, id := range all {
		want := payloads[strings.TrimSuffix(path.Base(url), path.Ext(url))].kind
		if v := in.rest(id); v.Status != "completed" || len(v.Jobs) != 1 || v.Type != string(want) {
			t.Errorf("%s: %s of type %q with %d jobs, want %q", url, v.Status, v.Type, len(v.Jobs), want)
		}
	}
	for _, c := range []struct {
		deposit app.Deposit
		code    domain.Code
		says    string
	}{
		{app.Deposit{Payload: "/away/box"}, "http_status", "503"}, {app.Deposit{Payload: "/ranges/none"}, "http_status", "404"},
		{app.Deposit{Payload: "/ranges/letter.checkm?token=s3cret"}, domain.CodeManifestInvalid, "does not begin as one"},
		{app.Deposit{Payload: "/ranges/letter.zip"}, container.CodeFormat, "letter.zip is named as a container and does not begin as one"},
		{app.Deposit{Payload: "/ranges/files", LocalIDs: []string{"shelf 9"}}, domain.CodeManifestInvalid, "has many objects"},
		{app.Deposit{Payload: "/ranges/letter", Mode: "update"}, "identifier_missing", "must name its object"},
	} {
		v := in.rest(submit(c.deposit))
		if v.Status != "failed" || len(v.Jobs) != 0 || v.Type != "" || deref(v.ReasonCode) != string(c.code) || !strings.Contains(deref(v.ReasonMessage), c.says) || strings.Contains(deref(v.ReasonMessage), "s3cret") {
			t.Errorf("%s: %s of type %q, %+v", c.deposit.Payload, v.Status, v.Type, deref(v.ReasonMessage))
		}
	}
	if n := away.Load(); n != 2 {
		t.Errorf("a server that is ill was asked %d times, of 2 attempts", n)
	}
	// Of a name that tells, the job has the fault of the server, and can be requeued.
	v := in.rest(submit(app.Deposit{Payload: "/ranges/none.pdf"}))
	if v.Status != "failed" || len(v.Jobs) != 1 || deref(v.Jobs[0].ReasonCode) != "http_status" || len(v.Warnings) != 1 || !strings.Contains(fmt.Sprint(v.Warnings[0]), "404") {
		t.Errorf("%s with %+v, warnings %v", v.Status, v.Jobs, v.Warnings)
	}
	v = in.rest(submit(app.Deposit{Payload: "/ranges/none.zip"}))
	if v.Status != "failed" || v.Type != string(domain.TypeContainer) || len(v.Warnings) != 1 {
		t.Errorf("%s of type %q, warnings %v", v.Status, v.Type, v.Warnings)
	}
	// With a type nothing is asked before the job.
	if v := in.rest(submit(app.Deposit{Payload: "/ranges/zip", Type: domain.TypeFile})); v.Status != "completed" || v.Type != string(domain.TypeFile) {
		t.Errorf("%s of type %q", v.Status, v.Type)
	}
	in.agree()
}
