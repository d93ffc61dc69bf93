package samples_test

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain/manifest"
)

func serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(samples.Handler())
	t.Cleanup(server.Close)
	return server.URL
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, resp.Status, err)
	}
	return data
}

func parse(t *testing.T, data []byte, want manifest.Profile) []manifest.Row {
	t.Helper()
	m, err := manifest.Parse(data, manifest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Profile != want {
		t.Fatalf("profile %q, want %q", m.Profile, want)
	}
	for _, r := range m.Rows {
		if r.Fault != nil {
			t.Fatal(r.Fault)
		}
	}
	return m.Rows
}

func agrees(r manifest.Row, data []byte) bool {
	var sum []byte
	switch r.HashAlgorithm {
	case "":
		return true
	case manifest.MD5:
		s := md5.Sum(data)
		sum = s[:]
	case manifest.SHA1:
		s := sha1.Sum(data)
		sum = s[:]
	case manifest.SHA256:
		s := sha256.Sum256(data)
		sum = s[:]
	case manifest.SHA512:
		s := sha512.Sum512(data)
		sum = s[:]
	}
	return hex.EncodeToString(sum) == r.HashValue
}

// Following the manifests from the batch down to each file, everything is as
// they say, but for the one digest that is meant to be wrong.
func TestWholeBatch(t *testing.T) {
	t.Parallel()
	base := serve(t)
	rows := parse(t, get(t, base+samples.BatchManifest), manifest.MrtBatch)
	objects := samples.Objects()
	if len(rows) != len(objects) {
		t.Fatalf("%d rows for %d objects", len(rows), len(objects))
	}
	listed := map[string]bool{"single/stations.csv": true, "metadata/records.xml": true}
	for i, row := range rows {
		o := objects[i]
		data := get(t, row.FileURL)
		if !agrees(row, data) || row.HashAlgorithm != manifest.SHA256 || row.Size != int64(len(data)) {
			t.Errorf("%s: digest or size of the manifest is wrong", o.Name)
		}
		if row.Title != o.Title || row.Creator != o.Creator || row.Date != o.Date ||
			strings.Join(row.LocalIdentifiers, "; ") != o.LocalID || row.PrimaryIdentifier != "" {
			t.Errorf("%s: described as %+v", o.Name, row)
		}
		var wrong []string
		for _, f := range parse(t, data, manifest.MrtIngest) {
			body := get(t, f.FileURL)
			if f.Size != int64(len(body)) || f.MimeType == "" {
				t.Errorf("%s: %s is described as %+v", o.Name, f.FileName, f)
			}
			if !agrees(f, body) {
				wrong = append(wrong, f.FileName)
			}
			listed[o.Name+"/"+f.FileName] = true
		}
		if want := map[bool]string{true: "data.csv"}[o.Fails]; strings.Join(wrong, " ") != want {
			t.Errorf("%s: wrong digests of %v, want %q", o.Name, wrong, want)
		}
		if o.Fails != strings.HasPrefix(o.Title, "Intended failure") {
			t.Errorf("%s: the title %q does not tell whether it must fail", o.Name, o.Title)
		}
	}
	err := fs.WalkDir(os.DirFS("files"), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !listed[name] {
			t.Errorf("files/%s is in no manifest", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOtherDeposits(t *testing.T) {
	t.Parallel()
	base := serve(t)
	if rows := parse(t, get(t, base+samples.ObjectManifest), manifest.MrtIngest); len(rows) != 4 {
		t.Errorf("%d files in the object", len(rows))
	}
	if data := get(t, base+samples.SingleFile); !strings.HasPrefix(string(data), "station;") {
		t.Errorf("the single file starts %.20q", data)
	}
	for path := range strings.Lines(strings.TrimPrefix(string(get(t, base+"/")), "Sample deposits of Accession:\n")) {
		get(t, base+strings.TrimSpace(path))
	}
	if got := http.DetectContentType(get(t, base+"/files/harbour-chart/chart.png")); got != "image/png" {
		t.Errorf("the chart is %s", got)
	}
}

func TestNothingElseIsServed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path, host string
		want               int
	}{
		{"GET", "/manifests/none.checkm", "h:1", 404},
		{"GET", "/files/none", "h:1", 404},
		{"GET", "/samples.go", "h:1", 404},
		{"GET", samples.BatchManifest, "h | x", 400},
		{"POST", samples.BatchManifest, "h:1", 405},
		{"HEAD", samples.SingleFile, "h:1", 200},
		{"HEAD", samples.BatchManifest, "[::1]:1", 200},
	} {
		r := httptest.NewRequest(c.method, c.path, http.NoBody)
		r.Host = c.host
		w := httptest.NewRecorder()
		samples.Handler().ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s %s of %q: %d, want %d", c.method, c.path, c.host, w.Code, c.want)
		}
		if c.method == "HEAD" && w.Header().Get("Content-Length") == "" {
			t.Errorf("%s: no size", c.path)
		}
	}
}
