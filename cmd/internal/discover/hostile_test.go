package discover

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/discover/listing"
)

// hostile is a directory that means harm, or is broken.
type hostile struct {
	what    string // the row of docs/files.md, and
	outcome string // what comes of it
	serve   http.HandlerFunc
	rules   Rules
	files   []string // that are found
	links   int      // that are counted as left out
	is      error    // nil = none
	says    string
}

// sends answers with a listing.
func sends(contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, text)
	}
}

const utf8HTML = "text/html; charset=utf-8"

func hostileListings(t *testing.T) []hostile {
	t.Helper()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, err := io.CopyN(z, zeros{}, 64<<20)
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return []hostile{
		{what: "links to other servers, above the directory, or into another one", outcome: "left out and counted; the files beside them are found",
			serve: sends(utf8HTML, index(row("http://169.254.169.254/latest/", "1"), row("//other.example/x", "1"), row("/etc/passwd", "1"), row("../../secret", "1"), row("javascript:alert(1)", "1"), row("a.fits", "1"))),
			files: []string{"a.fits"}, links: 5},
		{what: "names with a slash, a NUL, `..` or a control character in them, percent-encoded", outcome: "left out and counted",
			serve: sends(utf8HTML, index(row("a%2Fb", "1"), row("%2e%2e%2fb", "1"), row("a%00b", "1"), row("a%0Ab", "1"), row("a.fits", "1"))),
			files: []string{"a.fits"}, links: 4},
		{what: "a link to the directory itself, or above it", outcome: "passed over, not followed",
			serve: sends(utf8HTML, index(row("./", "-"), row("../", "-"), row("/night/", "-"), row("a.fits", "1"))), rules: Rules{Recursive: true},
			files: []string{"a.fits"}},
		{what: "directories without end", outcome: "an error at a depth of 32; nothing is found",
			serve: sends(utf8HTML, index(row("loop/", "-"), row("a.fits", "1"))), rules: Rules{Recursive: true}, is: ErrBounds, says: "more than 32 directories deep"},
		{what: "more than a million rows", outcome: "an error; nothing is found",
			serve: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", utf8HTML)
				_, _ = io.WriteString(w, "<html><head><title>Index of /night/</title></head><body><pre>\n")
				for n := range Most.Files + 1 {
					if _, err := fmt.Fprintf(w, "<a href=\"f%d\">f</a>\n", n); err != nil {
						return
					}
				}
				_, _ = io.WriteString(w, "</pre></body></html>")
			}, is: ErrBounds, says: "more than 1000000 files and links"},
		{what: "a compressed page that grows without end", outcome: "it is not asked for compressed, and not unpacked: no listing, nothing is found",
			serve: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", utf8HTML)
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(bomb.Bytes())
			}, is: errAny},
		{what: "another charset than it says", outcome: "names that it garbles are left out and counted",
			serve: sends(utf8HTML, index(row("caf\xe9.fits", "1"), row("a.fits", "1"))), files: []string{"a.fits"}, links: 1},
		{what: "a listing that stops in the middle", outcome: "an error; nothing is found, nothing counts as gone",
			serve: sends(utf8HTML, index(row("a.fits", "1"), row("b.fits", "1"))[:150]), is: listing.ErrCutOff},
		{what: "a connection that ends early", outcome: "an error that is temporary; nothing is found",
			serve: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", utf8HTML)
				w.Header().Set("Content-Length", "5000")
				_, _ = io.WriteString(w, index(row("a.fits", "1"))[:60])
			}, is: errAny},
		{what: "a page that is no listing, such as one to sign in", outcome: "an error; nothing is found, nothing counts as gone",
			serve: sends(utf8HTML, "<html><head><title>Sign in</title></head><body><a href=\"a.fits\">a</a></body></html>"), is: listing.ErrNoListing},
		{what: "the first of several pages", outcome: "an error; nothing is found, nothing counts as gone",
			serve: sends(utf8HTML, index(row("a.fits", "1"), `<a href="?page=2">next</a>`)), is: listing.ErrPages},
		{what: "JSON that is not whole", outcome: "an error; nothing is found",
			serve: sends("application/json", `[{"name":"a.fits","type":"file","size":1},{"name":"b`), is: listing.ErrCutOff},
		{what: "JSON with a million brackets", outcome: "an error; nothing is found",
			serve: sends("application/json", strings.Repeat("[", 1_000_000)), is: errAny},
	}
}

// errAny stands for an error of another package.
var errAny = errors.New("any")

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestHostileListings: what each hostile directory comes to, as docs/files.md says.
// Shows: P1
func TestHostileListings(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/files.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hostileListings(t) {
		s := httptest.NewServer(h.serve)
		f, err := Find(t.Context(), client(t), s.URL+"/night/", h.rules, Most)
		s.Close()
		if h.is != nil {
			if f != nil || err == nil || !errors.Is(h.is, errAny) && !errors.Is(err, h.is) || !strings.Contains(err.Error(), h.says) {
				t.Errorf("%s: %v", h.what, err)
			}
		} else if err != nil {
			t.Errorf("%s: %v", h.what, err)
		} else {
			var paths []string
			for _, file := range f.Files {
				paths = append(paths, file.Path)
			}
			if strings.Join(paths, " ") != strings.Join(h.files, " ") || f.LeftOut[ByLink] != h.links {
				t.Errorf("%s: %q, %d left out: %+v", h.what, paths, f.LeftOut[ByLink], f.Links)
			}
		}
		if row := "| " + h.what + " | " + h.outcome + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/files.md lacks:\n%s", row)
		}
	}
}
