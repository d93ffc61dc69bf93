package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/cmd/internal/run"
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

// TestDatasetsAndDiscoveries: what is polled is set, shown, paused and removed, here and over
// HTTP, by operators of the collection; what cannot be polled is refused with its remedy.
// Shows: P1
func TestDatasetsAndDiscoveries(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.serveInProcess(run.RoleRelay, run.RoleProjector)
	why := []string{"--reason", "the survey begins"}
	do := func(args ...string) []string { return append(args, why...) }
	in.says(0, do("dataset", "add", "nights", "--profile", "test", "--group-pattern", "^([0-9]+)_"), "nights is set now, was unset")
	in.says(0, do("discover", "add", "https://data.example.org/night", "--dataset", "nights", "--group", "one", "--every", "90s", "--pattern", "*.fits", "--recursive", "--newer-than", "2026-01-02", "--max-size", "2 GiB", "--dry-run"), "would go from unset to polled")
	in.says(0, do("discover", "add", "https://data.example.org/night", "--dataset", "nights", "--group", "one", "--every", "90s", "--pattern", "*.fits", "--recursive", "--newer-than", "2026-01-02", "--max-size", "2 GiB"), "nights-one is polled now, was unset")
	in.says(0, []string{"discover", "show", "nights-one"}, "https://data.example.org/night/", "polled every 1m30s", "group one", "*.fits", "2026-01-02", "2.0 GiB", "version 1, set by", "the survey begins")
	in.says(0, []string{"dataset", "show", "nights"}, "collection test", "^([0-9]+)_")
	in.says(0, do("dataset", "set", "nights", "--group-pattern", ""), "nights stays set")
	in.says(0, do("discover", "pause", "nights-one"), "nights-one is paused now, was polled")
	for _, c := range []struct {
		exit int
		args []string
		says []string
	}{
		{3, do("dataset", "add", "nights", "--profile", "test"), []string{"already", "dataset set"}},
		{4, do("dataset", "add", "days", "--profile", "sand"), []string{"sand", "profile ls"}},
		{2, do("dataset", "add", "Days", "--profile", "test"), []string{"not the name of a dataset"}},
		{2, do("dataset", "add", "days", "--profile", "test", "--group-pattern", "x"), []string{"parentheses"}},
		{2, []string{"dataset", "add", "days", "--profile", "test"}, []string{"--reason"}},
		{3, do("dataset", "set", "nights", "--group-pattern", ""), []string{"set so already"}},
		{4, do("dataset", "set", "days", "--group-pattern", ""), []string{"dataset ls"}},
		{3, do("discover", "add", "https://data.example.org/", "--dataset", "nights", "--name", "nights-one"), []string{"--name"}},
		{4, do("discover", "add", "https://data.example.org/", "--dataset", "days"), []string{"dataset ls"}},
		{2, do("discover", "add", "https://ana:hidden@data.example.org/", "--dataset", "nights"), []string{"leave it out"}},
		{2, do("discover", "add", "https://data.example.org/?key=hidden", "--dataset", "nights"), []string{"query"}},
		{2, do("discover", "add", "ftp://data.example.org/", "--dataset", "nights"), []string{"http, https or s3"}},
		{2, do("discover", "add", "https://data.example.org/", "--dataset", "nights", "--pattern", "[a"), []string{"close its brackets"}},
		{4, do("discover", "resume", "days"), []string{"discover ls"}},
		{3, do("discover", "pause", "nights-one"), []string{"set so already"}},
	} {
		if says := in.says(c.exit, c.args, c.says...); strings.Contains(says, "hidden") {
			t.Errorf("%v tells a secret: %s", c.args, says)
		}
	}
	d := in.door()
	op := "cy operator/test"
	d.ask(op, http.MethodPost, "/v1/discoveries/days/add", `{"url":"https://data.example.org/day/","dataset":"nights","reason":"and by day"}`).is(d, http.StatusOK, "")
	d.ask(op, http.MethodPost, "/v1/discoveries/days/rm?", `{"reason":"no more"}`).is(d, http.StatusOK, "")
	d.ask(op, http.MethodPost, "/v1/discoveries/nights-one/resume?", `{"reason":"again"}`, "Prefer: wait=5").is(d, http.StatusOK, "")
	var list struct{ Items []directories.Discovery }
	d.ask("cy reader/test", http.MethodGet, "/v1/discoveries?dataset=nights", "").into(d, &list)
	if len(list.Items) != 1 || list.Items[0].Name != "nights-one" || list.Items[0].Paused || list.Items[0].Every != 90 || list.Items[0].Why != "again" {
		t.Errorf("%+v", list)
	}
	in.says(0, []string{"discover", "ls"}, "nights-one", "1m30s", "polled")
	in.says(0, []string{"dataset", "ls"}, "nights", "test")
	in.says(0, []string{"verify"})
}
