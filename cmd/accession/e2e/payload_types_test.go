package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

const manifestOf = "#%%checkm_0.7\n#%%profile | http://uc3.cdlib.org/registry/ingest/manifest/%s\n"

// The files of a container are stored, alone and in a batch; a file is stored too, alone and
// in a batch; and so are the files of a manifest, alone and in a manifest of manifests.
func TestEveryKindIsStored(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	var box bytes.Buffer
	z := zip.NewWriter(&box)
	if f, err := z.Create("inside.txt"); err != nil || errors.Join(second(f.Write([]byte("inside\n"))), z.Close()) != nil {
		t.Fatal("cannot make a container")
	}
	mux := http.NewServeMux()
	for path, text := range map[string]string{
		"/box.zip": box.String(), "/a.txt": "a\n", "/b.txt": "b\n",
		"/object.checkm":  fmt.Sprintf(manifestOf, "mrt-ingest-manifest") + "http://HOST/a.txt | | | | | part/a.txt\nhttp://HOST/b.txt | | | | | b.txt\n#%eof\n",
		"/batch.checkm":   fmt.Sprintf(manifestOf, "mrt-batch-manifest") + "http://HOST/object.checkm\nhttp://HOST/object.checkm\n#%eof\n",
		"/boxes.checkm":   fmt.Sprintf(manifestOf, "mrt-container-batch-manifest") + "http://HOST/box.zip\nhttp://HOST/box.zip | | | | | other.zip\n#%eof\n",
		"/singles.checkm": fmt.Sprintf(manifestOf, "mrt-single-file-batch-manifest") + "http://HOST/a.txt\nhttp://HOST/b.txt\n#%eof\n",
	} {
		mux.HandleFunc(path, func(rw http.ResponseWriter, r *http.Request) {
			_, _ = rw.Write([]byte(strings.ReplaceAll(text, "HOST", r.Host)))
		})
	}
	base := webServer(t, mux)
	in.serveInProcess()
	want := map[domain.SubmissionType][]map[string]string{
		domain.TypeFile:           {{"a.txt": "a\n"}},
		domain.TypeContainer:      {{"inside.txt": "inside\n"}},
		domain.TypeObjectManifest: {{"part/a.txt": "a\n", "b.txt": "b\n"}},
		domain.TypeBatchManifest: {
			{"part/a.txt": "a\n", "b.txt": "b\n"}, {"part/a.txt": "a\n", "b.txt": "b\n"},
		},
		domain.TypeContainerBatchManifest: {{"inside.txt": "inside\n"}, {"inside.txt": "inside\n"}},
		domain.TypeFileBatchManifest:      {{"a.txt": "a\n"}, {"b.txt": "b\n"}},
	}
	ids := map[domain.SubmissionType]domain.BatchID{}
	for kind, payload := range map[domain.SubmissionType]string{
		domain.TypeFile: "/a.txt", domain.TypeContainer: "/box.zip", domain.TypeObjectManifest: "/object.checkm",
		domain.TypeBatchManifest: "/batch.checkm", domain.TypeContainerBatchManifest: "/boxes.checkm", domain.TypeFileBatchManifest: "/singles.checkm",
	} {
		ids[kind] = in.submit(app.Deposit{Payload: base + payload, Type: kind})
	}
	for kind, objects := range want {
		v := in.rest(ids[kind])
		if v.Status != "completed" || len(v.Jobs) != len(objects) {
			t.Errorf("%s: %+v", kind, v)
			continue
		}
		for i, files := range objects {
			in.holds(v.Jobs[i], files)
		}
		if texts := in.mails(ids[kind]); len(texts) != 1 || !strings.Contains(texts[0], fmt.Sprintf("Listed %[1]d, completed %[1]d, failed 0", len(objects))) {
			t.Errorf("%s: mails %q", kind, texts)
		}
	}
	in.agree()
}

func second[T any](_ T, err error) error { return err }

// holds checks that the object of a job has these files of its depositor, and no
// others.
func (in *installation) holds(j app.JobRow, files map[string]string) {
	in.t.Helper()
	read := func(key string) []byte {
		data, err := os.ReadFile(filepath.Join(in.cfg.Store, filepath.FromSlash(key)))
		if err != nil {
			in.t.Error(err)
		}
		return data
	}
	var m store.StorageManifest
	if j.ManifestKey == nil || json.Unmarshal(read(*j.ManifestKey), &m) != nil {
		in.t.Errorf("%s is not stored: %+v", j.ID, j)
		return
	}
	n := 0
	for _, f := range m.Files {
		if f.Kind != store.KindProducer {
			continue
		}
		n++
		if text, ok := files[f.Name]; !ok || text != string(read(f.Key)) {
			in.t.Errorf("%s has %s as %q, want %q", j.ID, f.Name, read(f.Key), text)
		}
	}
	if n != len(files) {
		in.t.Errorf("%s has %d files, want %d", j.ID, n, len(files))
	}
}

// A batch manifest that cannot be read is reported to its depositor by mail, and stands
// in the report, in the status-report and in the tables.
func TestBadManifestIsToldEverywhere(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.editProfile("fetch:", "limits: {max_manifest_bytes: 4 KiB, max_rows: 3}\nfetch:")
	const row = "http://files.test/x\n"
	files := fmt.Sprintf(manifestOf, "mrt-single-file-batch-manifest")
	pages := map[string]string{
		"/cut": files + row, "/no-rows": files + "#%eof\n", "/page": "<html>\n", "/good": files + row + "#%eof\n",
		"/profile":   fmt.Sprintf(manifestOf, "mrt-unheard-of") + row + "#%eof\n",
		"/long":      files + "# " + strings.Repeat("x", 5000) + "\n" + row + "#%eof\n",
		"/many-rows": files + strings.Repeat(row, 4) + "#%eof\n",
		"/object":    fmt.Sprintf(manifestOf, "mrt-ingest-manifest") + row + "#%eof\n",
	}
	base := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if page, ok := pages[r.URL.Path]; ok {
			_, _ = rw.Write([]byte(page))
			return
		}
		http.NotFound(rw, r)
	}))
	in.serveInProcess()
	ids, codes := map[string]domain.BatchID{}, map[string]string{
		"/cut": "manifest_invalid", "/no-rows": "manifest_invalid", "/page": "manifest_invalid", "/profile": "manifest_invalid",
		"/long": "too_large", "/many-rows": "manifest_invalid", "/object": "manifest_invalid", "/good": "digest_mismatch", "/missing": "http_status",
	}
	for path := range codes {
		d := app.Deposit{Payload: base + path, Type: domain.TypeFileBatchManifest}
		if path == "/good" {
			d.Digest = "md5:00000000000000000000000000000000"
		}
		ids[path] = in.submit(d)
	}
	live, err := in.wired.Live(in.ctx())
	if err != nil {
		t.Fatal(err)
	}
	for path, code := range codes {
		id := ids[path]
		v := in.rest(id)
		if v.Status != "failed" || v.ReasonCode == nil || *v.ReasonCode != code || v.RowsListed == nil || *v.RowsListed != 0 || len(v.ReportsMade) != 1 {
			t.Errorf("%s: the tables say %s, %s, want %s: %+v", path, v.Status, deref(v.ReasonCode), code, v.BatchSummary)
			continue
		}
		at, err := live.Batch(in.ctx(), id)
		if err != nil || at.State.Report == nil || at.State.Report.Failed+at.State.Report.Successful != 0 {
			t.Errorf("%s: the status-report is %+v, %v", path, at.State.Report, err)
			continue
		}
		key, _ := store.KeyOf(at.State.Report.ReportURL)
		whole, err := os.ReadFile(filepath.Join(in.cfg.Store, filepath.FromSlash(key)))
		if err != nil || !strings.Contains(string(whole), `"`+code+`"`) {
			t.Errorf("%s: the report does not say %s: %v\n%s", path, code, err, whole)
		}
		if texts := in.mails(id); len(texts) != 1 || !strings.Contains(texts[0], "Nothing was ingested: ") || !strings.Contains(texts[0], "("+code+")") {
			t.Errorf("%s: mails %q do not say %s", path, texts, code)
		}
	}
	in.agree()
}
