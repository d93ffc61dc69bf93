package listing

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// captured are listings as servers of Debian 12 sent them, all of one directory; testdata/README
// says how they were made.
var captured = []struct {
	file, contentType, path string
	sized                   bool // sizes are told
	rounded                 func(size int64) (int64, bool)
	to                      time.Duration // precision of dates, 0 = there are none
	hidden                  bool          // names with a dot before them are listed
	others                  int           // links to elsewhere: Caddy's to itself
}{
	{"nginx.html", "text/html; charset=utf-8", "/", true, exact, time.Minute, false, 0},
	{"nginx-rounded.html", "text/html; charset=utf-8", "/exact/", true, thousands, time.Minute, false, 0},
	{"nginx.json", "application/json", "/json/", true, exact, time.Second, false, 0},
	{"lighttpd.html", "text/html;charset=utf-8", "/", true, tenths, time.Second, false, 0},
	{"caddy.html", "text/html; charset=utf-8", "/", true, exact, time.Second, true, 1},
	{"caddy.json", "application/json; charset=utf-8", "/", true, exact, time.Second, true, 0},
	{"apache-plain.html", "text/html;charset=ISO-8859-1", "/plain/", false, nil, 0, true, 0},
	{"apache-columns.html", "text/html;charset=UTF-8", "/columns/", true, apache, time.Minute, true, 0},
	{"apache-table.html", "text/html;charset=UTF-8", "/table/", true, apache, time.Minute, true, 0},
	{"python.html", "text/html; charset=utf-8", "/", false, nil, 0, true, 0},
}

func exact(n int64) (int64, bool) { return n, false }

// thousands is nginx's autoindex_exact_size off.
func thousands(n int64) (int64, bool) {
	if n < 1024 {
		return n, false
	}
	return 2 << 20, true
}

// tenths is lighttpd's: a tenth of 1024 at least.
func tenths(n int64) (int64, bool) {
	if n >= 1<<20 {
		return n, true
	}
	return map[int64]int64{0: 0, 1: 102, 4: 102}[n], true
}

func apache(n int64) (int64, bool) { return n, n >= 1024 }

// files are those of the directory, with their sizes.
var files = map[string]int64{"100%.txt": 1, "a b.txt": 1, `a&b<c>"d.txt`: 1, "a.txt": 4, "a:b.txt": 1, "big.fits": 3 << 19, "empty": 0, "what?#;.txt": 1, "ümläut.dat": 1,
	"a-name-that-is-longer-than-what-a-listing-shows-of-it-so-that-it-is-cut-off.tar.gz": 1}

func parse(t testing.TB, text io.Reader, contentType, path string, most int) (*Listing, error) {
	t.Helper()
	directory, err := url.Parse("http://data.example.org" + path)
	if err != nil {
		t.Fatal(err)
	}
	return Parse(text, contentType, directory, most)
}

// TestCapturedListings: each server's listing says the same of the same directory.
func TestCapturedListings(t *testing.T) {
	t.Parallel()
	for _, c := range captured {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
			l, err := parse(t, strings.NewReader(string(text)), c.contentType, c.path, 100)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]Entry{"sub": {Directory: true, Size: -1}, "dir with space": {Directory: true, Size: -1}}
			if c.hidden {
				want[".hidden"] = Entry{Directory: true, Size: -1}
			}
			for name, n := range files {
				e := Entry{Size: -1}
				if c.sized {
					e.Size, e.Rounded = c.rounded(n)
				}
				want[name] = e
			}
			got := map[string]Entry{}
			for _, e := range l.Entries {
				to, err := url.Parse(e.URL)
				if slash := map[bool]string{true: "/"}[e.Directory]; err != nil || to.Path != c.path+e.Name+slash || to.Host != "data.example.org" {
					t.Errorf("%q is at %q", e.Name, e.URL)
				}
				at := time.Date(2026, 11, 20, 9, 5, 7, 0, time.UTC)
				if e.Name == "big.fits" {
					at = time.Date(2019, 2, 28, 23, 59, 59, 0, time.UTC)
				}
				if c.to == 0 {
					at = time.Time{}
				}
				if e.Name != ".hidden" && !e.Modified.Equal(at.Truncate(max(c.to, time.Second))) {
					t.Errorf("%q was modified at %v", e.Name, e.Modified)
				}
				got[e.Name] = Entry{Directory: e.Directory, Size: e.Size, Rounded: e.Rounded}
			}
			if d := cmp.Diff(want, got); d != "" || l.NLeftOut != c.others {
				t.Errorf("%s\nleft out: %v", d, l.LeftOut)
			}
			// Cut off anywhere, it is no listing, but behind its end.
			for at, whole := 0, len(strings.TrimRight(string(text), "\r\n")); at < whole; at += max(1, min(whole/500, whole-at-50)) {
				if l, err := parse(t, strings.NewReader(string(text[:at])), c.contentType, c.path, 100); err == nil {
					t.Fatalf("cut off at %d of %d it has %d entries", at, len(text), len(l.Entries))
				}
			}
			if _, err := parse(t, iotest.TimeoutReader(strings.NewReader(string(text))), c.contentType, c.path, 100); len(text) > 4096 && !errors.Is(err, iotest.ErrTimeout) {
				t.Errorf("a body that cannot be read: %v", err)
			}
			if _, err := parse(t, strings.NewReader(string(text)), c.contentType, c.path, 5); !errors.Is(err, ErrTooMany) {
				t.Errorf("with at most 5 rows: %v", err)
			}
		})
	}
}

// TestEmptyDirectories: a directory without files has none.
func TestEmptyDirectories(t *testing.T) {
	t.Parallel()
	for file, path := range map[string]string{"nginx-sub.html": "/sub/", "lighttpd-sub.html": "/sub/", "caddy-sub.html": "/sub/", "apache-sub.html": "/columns/sub/"} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if l, err := parse(t, strings.NewReader(string(text)), "text/html", path, 10); err != nil || len(l.Entries) > 0 {
			t.Errorf("%s: %v %v", file, l, err)
		}
	}
	if l, err := parse(t, strings.NewReader("[\n]\n"), "application/json", "/", 10); err != nil || len(l.Entries) > 0 {
		t.Errorf("%v %v", l, err)
	}
}

// around is a page of nginx around rows.
func around(rows string) string {
	return "<html><head><title>Index of /d/</title></head><body><h1>Index of /d/</h1><hr><pre><a href=\"../\">../</a>\n" + rows + "</pre><hr></body></html>"
}

// TestLinksThatAreLeftOut: what leads out of the directory, or has a name that no file may
// have, is no file of it, and is told.
func TestLinksThatAreLeftOut(t *testing.T) {
	t.Parallel()
	for link, why := range map[string]string{
		"http://elsewhere.example.org/d/x":      "another server",
		"https://data.example.org/d/x":          "another server",
		"//elsewhere.example.org/d/x":           "another server",
		"http://ana@data.example.org/d/x":       "another server",
		"javascript:alert(1)":                   "another server",
		"/e/x":                                  "out of the directory",
		"../e/x":                                "out of the directory",
		"x/y":                                   "out of the directory",
		"%2e%2e/":                               "a directory above",
		"%2e%2e%2fx":                            "a slash in a name",
		"a%5cb":                                 "a slash in a name",
		"a%00b":                                 "control character",
		"a%e2%80%aeb":                           "bidirectional control",
		"%ff":                                   "not UTF-8",
		"caf%ef%bf%bd":                          "another charset",
		"a%zz":                                  "no URL",
		"x?version=1":                           "a query",
		"x#part":                                "a fragment",
		"x//":                                   "out of the directory",
		"good":                                  "there twice",
		strings.Repeat("x", 5000):               "longer than",
		"http://data.example.org:8080/d/x":      "another server",
		"http://data.example.org/d/../../etc/x": "out of the directory",
	} {
		l, err := parse(t, strings.NewReader(around("<a href=\"good\">good</a>  20-Nov-2026 09:05  1\n<a href=\""+link+"\">x</a>  20-Nov-2026 09:05  1\n")), "text/html", "/d/", 10)
		if err != nil || len(l.Entries) != 1 || l.NLeftOut != 1 || !strings.Contains(l.LeftOut[0].Why, why) {
			t.Errorf("%.40q: %v %+v", link, err, l)
		}
	}
}

// TestPagesThatAreNoListing: another page is no empty directory.
func TestPagesThatAreNoListing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		contentType, text string
		want              error
	}{
		{"text/html", "", ErrNoListing},
		{"text/html", "<html><head><title>Sign in</title></head><body><a href=\"login\">Sign in</a></body></html>", ErrNoListing},
		{"text/html", "<html><head><title>Index of /d/</title></head><body>", ErrCutOff},
		{"text/html", "Index of /d/", ErrNoListing},
		{"text/plain", "Index of /d/", ErrNoListing},
		{"", around(""), ErrNoListing},
		{"text/", around(""), ErrNoListing},
		{"text/html", around(`<a href="?page=2">2</a>`), ErrPages},
		{"text/html", around(`<a href="/d/?C=N;O=D&amp;from=f">on</a>`), ErrPages},
		{"text/html", around(`<a href="./?100">on</a>`), ErrPages},
		{"text/html", around(`<a href="other" rel="nofollow next">on</a>`), ErrPages},
		{"text/html", around(`<link rel=next href="other">`), ErrPages},
		{"application/json", "", ErrCutOff},
		{"application/json", "{}", ErrNoListing},
		{"application/json", `{"error":"not found"}`, ErrNoListing},
		{"application/json", `[{"name":"a","type":"file"}`, ErrCutOff},
		{"application/json", `[{"name":"a","type":"file"}] []`, ErrNoListing},
		{"application/json", `[{"name":"a"}]`, ErrNoListing},
		{"application/json", `[{"name":1,"type":"file"}]`, ErrNoListing},
		{"application/json", `[1]`, ErrNoListing},
		{"application/json", `[nil]`, ErrNoListing},
	} {
		if _, err := parse(t, strings.NewReader(c.text), c.contentType, "/d/", 10); !errors.Is(err, c.want) {
			t.Errorf("%s %q: %v", c.contentType, c.text, err)
		}
	}
	if _, err := parse(t, strings.NewReader(around("")), "text/html", "/d", 10); err == nil {
		t.Error("a directory without a slash is taken")
	}
}

// TestOtherNames: a base, a charset and names without encoding are taken as a browser does.
func TestOtherNames(t *testing.T) {
	t.Parallel()
	page := strings.Replace(around("<a href=\"\xfcber.txt\">x</a>\n"), "<head>", "<head><base href=\"/d/\">", 1)
	l, err := parse(t, strings.NewReader(page), "text/html; charset=iso-8859-1", "/d/", 10)
	if err != nil || len(l.Entries) != 1 || l.Entries[0].Name != "über.txt" || l.Entries[0].URL != "http://data.example.org/d/%C3%BCber.txt" {
		t.Errorf("%v %+v", err, l)
	}
	l, err = parse(t, strings.NewReader(strings.Replace(page, "/d/\">", "/e/\">", 1)), "text/html; charset=iso-8859-1", "/d/", 10)
	if err != nil || len(l.Entries) != 0 {
		t.Errorf("%v %+v", err, l)
	}
}

// TestSizes: sizes are read as servers write them.
func TestSizes(t *testing.T) {
	t.Parallel()
	type told struct {
		n       int64
		rounded bool
	}
	for field, want := range map[string]told{"0": {0, false}, "17": {17, false}, "1.5M": {3 << 19, true}, "1K": {1024, true}, "2.0GiB": {2 << 30, true}, "3kB": {3072, true}, "12B": {12, false},
		"-": {-1, false}, "": {-1, false}, "-5": {-1, false}, "M": {-1, false}, "1e400": {-1, false}, "9E": {-1, false}, "NaN": {-1, false}, "text/plain": {-1, false}} {
		if n, rounded := size(field); n != want.n || rounded != want.rounded {
			t.Errorf("%q: %d %v", field, n, rounded)
		}
	}
}

// FuzzParse: whatever a server sends, entries are files right in the directory.
func FuzzParse(f *testing.F) {
	for _, c := range captured {
		text, err := os.ReadFile(filepath.Join("testdata", c.file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), strings.HasPrefix(c.contentType, "application/json"))
	}
	f.Fuzz(func(t *testing.T, text string, asJSON bool) {
		l, err := parse(t, strings.NewReader(text), map[bool]string{true: "application/json", false: "text/html"}[asJSON], "/d/", 50)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, e := range l.Entries {
			to, err := url.Parse(e.URL)
			if err != nil || seen[e.Name] || unusable(e.Name) != "" || e.Size < -1 || to.Host != "data.example.org" || to.RawQuery != "" ||
				to.Path != "/d/"+e.Name+map[bool]string{true: "/"}[e.Directory] {
				t.Errorf("%+v %v", e, err)
			}
			seen[e.Name] = true
		}
		if len(l.Entries)+l.NLeftOut > 50 {
			t.Error(fmt.Sprint(len(l.Entries), l.NLeftOut))
		}
	})
}
