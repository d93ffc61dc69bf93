package intake

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
)

// packed is a container in each format that is unpacked.
func packed(t *testing.T) map[string][]byte {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var tarred, zipped, gzipped bytes.Buffer
	tw := tar.NewWriter(&tarred)
	must(tw.WriteHeader(&tar.Header{Name: "a.txt", Size: 2, Mode: 0o644}))
	_, err := tw.Write([]byte("a\n"))
	must(err)
	must(tw.Close())
	zw := zip.NewWriter(&zipped)
	f, err := zw.Create("a.txt")
	must(err)
	_, err = f.Write([]byte("a\n"))
	must(err)
	must(zw.Close())
	gw := gzip.NewWriter(&gzipped)
	_, err = gw.Write(tarred.Bytes())
	must(err)
	must(gw.Close())
	bzipped, err := os.ReadFile("../../unpack/testdata/box.tar.bz2")
	must(err)
	zstandard, err := os.ReadFile("../../unpack/testdata/box.tar.zst")
	must(err)
	return map[string][]byte{".zip": zipped.Bytes(), ".tar": tarred.Bytes(), ".tar.gz": gzipped.Bytes(), ".tgz": gzipped.Bytes(),
		".tar.bz2": bzipped, ".tbz2": bzipped, ".tbz": bzipped, ".tar.zst": zstandard, ".tzst": zstandard}
}

// TestGuess: the content of a local file says what it is, where its name does not say that it is a
// container; each format of containers is found with its ending, with another one and without.
func TestGuess(t *testing.T) {
	t.Parallel()
	guess := func(name string, data []byte) domain.SubmissionType {
		if of := Named(name, true); of != "" {
			return of
		}
		of, hint, err := Guess(name, true, bytes.NewReader(data))
		if err != nil || hint != "" {
			t.Errorf("%s: %q, %v", name, hint, err)
		}
		return of
	}
	for ending, data := range packed(t) {
		for _, name := range []string{"m" + ending, "M" + strings.ToUpper(ending), "box.bin", "box", "v1.2"} {
			if got := guess(name, data); got != domain.TypeContainer {
				t.Errorf("%s as %s is %q", ending, name, got)
			}
		}
		if Named("https://example.org/m"+ending+"?v=1", false) != domain.TypeContainer {
			t.Errorf("the URL of a %s is none of a container", ending)
		}
	}
	const checkmHead = "#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/"
	for name, c := range map[string]struct {
		data string
		want domain.SubmissionType
	}{
		"letter": {"Dear all,\n", domain.TypeFile}, "empty": {"", domain.TypeFile}, "plain.zip": {"no zip", domain.TypeContainer},
		"m.txt": {checkmHead + "mrt-batch-manifest\n", domain.TypeBatchManifest}, "m.checkm": {checkmHead + "mrt-ingest-manifest\n", domain.TypeObjectManifest},
		"a.gz": {string(packed(t)[".zip"][:2]), domain.TypeFile}, "a.docx": {string(packed(t)[".zip"]), domain.TypeFile},
	} {
		if got := guess(name, []byte(c.data)); got != c.want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if _, _, err := Guess("x", true, iotest.ErrReader(io.ErrClosedPipe)); err == nil {
		t.Error("what cannot be read has a type")
	}
	if _, hint, err := Guess("x.checkm", true, strings.NewReader("Dear all,\n")); err == nil || hint == "" {
		t.Errorf("%q, %v", hint, err)
	}
}

// TestLook: what is behind a URL is found out under the policy of the profile, by its first bytes;
// where that fails the error says how to do without.
func TestLook(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/records":
			_, _ = w.Write([]byte(`<records xmlns="https://accession.test/ns/records"><record/></records>`))
		case "/box":
			_, _ = w.Write(packed(t)[".tar.gz"])
		case "/cut":
			w.Header().Set("Content-Length", "9")
			_, _ = w.Write([]byte("Dear"))
		case "/odd":
			_, _ = w.Write([]byte("#%checkm_0.7\n#%profile | odd\n"))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	c, err := fetch.NewClient(fetch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	p := profile.Defaults()
	p.Fetch.Allow = []string{"127.0.0.1/32"}
	look := func(path string) (domain.SubmissionType, string, error) { return Look(t.Context(), c, s.URL+path, p) }
	for _, with := range []bool{false, true} {
		want := domain.TypeFile
		if with {
			want = domain.TypeMetadata
			p.Metadata = []profile.Metadata{{Root: "{https://accession.test/ns/records}records", Record: "record", Identifier: "identifier", Title: "title"}}
		}
		if got, hint, err := look("/records"); got != want || hint != "" || err != nil {
			t.Errorf("%q, %q, %v", got, hint, err)
		}
	}
	if got, _, err := look("/box"); got != domain.TypeContainer || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for path, says := range map[string]string{"/gone": "404", "/cut": "broke", "/odd": "not known"} {
		if got, hint, err := look(path); got != "" || err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(hint, "--type") {
			t.Errorf("%s: %q, %q, %v", path, got, hint, err)
		}
	}
	p.Fetch.Allow = nil
	if got, _, err := look("/box"); err == nil {
		t.Errorf("an address that is closed has a %q", got)
	}
	p.Fetch.Allow = []string{"nonsense"}
	if got, _, err := look("/box"); err == nil {
		t.Errorf("a broken profile has a %q", got)
	}
}
