package sniff

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

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
	bzipped, err := os.ReadFile("../unpack/testdata/box.tar.bz2")
	must(err)
	zstandard, err := os.ReadFile("../unpack/testdata/box.tar.zst")
	must(err)
	return map[string][]byte{".zip": zipped.Bytes(), ".tar": tarred.Bytes(), ".tar.gz": gzipped.Bytes(), ".tgz": gzipped.Bytes(),
		".tar.bz2": bzipped, ".tbz2": bzipped, ".tbz": bzipped, ".tar.zst": zstandard, ".tzst": zstandard}
}

// TestType: the content of a local file says what it is, where its name does not say that it is a
// container; each format of containers is found with its ending, with another one and without.
func TestType(t *testing.T) {
	t.Parallel()
	guess := func(name string, data []byte) domain.SubmissionType {
		if Container(name, true) {
			return domain.TypeContainer
		}
		of, hint, err := Type(name, true, bytes.NewReader(data))
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
		if !Container("https://example.org/m"+ending+"?v=1", false) {
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
	if _, _, err := Type("x", true, iotest.ErrReader(io.ErrClosedPipe)); err == nil {
		t.Error("what cannot be read has a type")
	}
	if _, hint, err := Type("x.checkm", true, strings.NewReader("Dear all,\n")); err == nil || hint == "" {
		t.Errorf("%q, %v", hint, err)
	}
}

// TestTelling: an ending says that a file is behind a URL, unless it is none, a number, or one that
// anything may have.
func TestTelling(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"https://example.org/a.pdf": true, "https://example.org/a.TXT?x=.bin": true, "https://example.org/a": false, "https://example.org/v1.2": false,
		"https://example.org/a.bin": false, "https://example.org/a.checkm": false, "https://example.org/": false, "https://example.org/?name=a.pdf": false,
	} {
		if Telling(url) != want {
			t.Errorf("%s: %t", url, !want)
		}
	}
}
