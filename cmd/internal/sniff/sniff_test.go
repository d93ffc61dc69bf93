package sniff

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
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

// TestType: the content says what a payload is, whatever its name is; each format of containers is
// found with its ending, with another one and without. A name that the content contradicts is a fault.
func TestType(t *testing.T) {
	t.Parallel()
	guess := func(name string, data []byte) domain.SubmissionType {
		of, err := Type(name, true, bytes.NewReader(data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
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
		"letter": {"Dear all,\n", domain.TypeFile}, "empty": {"", domain.TypeFile}, "m.zip": {checkmHead + "mrt-batch-manifest\n", domain.TypeBatchManifest}, "jar.zip": {string(jar(t)), domain.TypeContainer}, "a.jar": {string(jar(t)), domain.TypeFile}, "text.tgz": {string(packed(t)[".tgz"][:20]), domain.TypeContainer},
		"m.txt": {checkmHead + "mrt-batch-manifest\n", domain.TypeBatchManifest}, "m.checkm": {checkmHead + "mrt-ingest-manifest\n", domain.TypeObjectManifest},
		"a.gz": {string(packed(t)[".zip"][:2]), domain.TypeFile}, "a.docx": {string(packed(t)[".zip"]), domain.TypeFile},
	} {
		if got := guess(name, []byte(c.data)); got != c.want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if _, err := Type("x", true, iotest.ErrReader(io.ErrClosedPipe)); err == nil {
		t.Error("what cannot be read has a type")
	}
	for name, code := range map[string]domain.Code{"x.checkm": domain.CodeManifestInvalid, "x.zip": container.CodeFormat, "x.tar.bz2": container.CodeFormat} {
		of, err := Type(name, true, strings.NewReader("Dear all,\n"))
		if fault, is := errors.AsType[*Fault](err); !is || of != "" || fault.Code != code || !strings.Contains(fault.Text, name) || !strings.Contains(fault.Hint, "--type file") {
			t.Errorf("%s is %q, %+v", name, of, err)
		}
	}
}

// jar is a zip of which the first member shows that it is a program.
func jar(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if _, err := w.Create("META-INF/MANIFEST.MF"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
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
