package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/directories"
)

// directoryServer serves an open directory as nginx lists it, and returns its URL. Below it, half/
// stops in the middle, and page/ is no listing.
func directoryServer(t *testing.T) string {
	t.Helper()
	const begin = "<html><head><title>Index of /night/</title></head><body><h1>Index of /night/</h1><hr><pre><a href=\"../\">../</a>\n"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/night/":
			_, _ = io.WriteString(w, begin+`<a href="one.fits">one.fits</a>          20-Nov-2026 09:05       2048
<a href="two.fits">two.fits</a>          20-Nov-2026 09:06      17
<a href="notes.txt">notes.txt</a>         20-Nov-2026 09:05       5
<a href="/etc/passwd">passwd</a>         20-Nov-2026 09:05       5
</pre><hr></body></html>`)
		case "/night/half/":
			_, _ = io.WriteString(w, begin+"<a href=\"one.fits\">one.fits</a>          20-Nov-2026 09:05       2048\n")
		case "/night/page/":
			_, _ = io.WriteString(w, "<html><body>Sign in</body></html>")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/night/"
}

// TestLookAtADirectory: an operator sees what a directory lists and what the rules leave of it,
// and why it cannot be read.
// Shows: P1
func TestLookAtADirectory(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	at := directoryServer(t)
	look := func(args ...string) []string {
		return append([]string{"discover", "look", "--profile", "test"}, args...)
	}
	in.says(0, look(at, "--pattern", "*.fits"), "one.fits", "2.0 KiB", "2026-11-20", "2 files, 2.0 KiB, in 1 directory", "1 left out by their name", "no file: /etc/passwd leads out of the directory")
	var seen directories.Seen
	in.must(json.Unmarshal([]byte(in.says(0, look(at, "--max-size", "1 KiB", "--limit", "1", "-o", "json"))), &seen))
	if f := seen.Files; seen.Count != 2 || seen.Bytes != 22 || len(f) != 1 || f[0].Path != "two.fits" || f[0].URL != at+"two.fits" || *f[0].Size != 17 || f[0].Modified.String() != "2026-11-20T09:06:00.000Z" ||
		seen.LeftOut != (directories.LeftOut{Size: 1, Links: 1}) || len(seen.Links) != 1 {
		t.Errorf("%+v", seen)
	}
	for _, c := range []struct {
		exit int
		args []string
		says []string
	}{
		{5, look(at + "half/"), []string{"stops before its end", "what was read is not used"}},
		{2, look(at + "page/"), []string{"no listing", "Apache, nginx"}},
		{2, look(at + "nothing/"), []string{"404"}},
		{5, look("http://127.0.0.1:1/"), []string{"127.0.0.1:1"}},
		{2, look("http://127.9.9.9/night/"), []string{"127.9.9.9", "may not reach"}},
		{2, look("night"), []string{"no URL of a directory"}},
		{2, look(at, "--pattern", "[a"), []string{"close its brackets"}},
		{4, []string{"discover", "look", "--profile", "sand", at}, []string{"sand"}},
		{2, []string{"discover", "look", at}, []string{"profile"}},
	} {
		in.says(c.exit, c.args, c.says...)
	}
	d := in.door()
	there := d.ask("cy operator/test", http.MethodGet, "/v1/directories/look?profile=test&url="+strings.ReplaceAll(at, ":", "%3A"), "").into(d, &seen)
	if there.status != http.StatusOK || seen.Count != 3 || seen.Bytes != 2048+17+5 {
		t.Errorf("%d %s", there.status, there.body)
	}
}
