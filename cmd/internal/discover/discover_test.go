package discover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/discover/listing"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
)

// client returns a client that may ask this machine.
func client(t *testing.T) *fetch.Client {
	t.Helper()
	c, err := fetch.NewClient(fetch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.With(fetch.Policy{Allow: []fetch.Exception{{Prefix: netip.MustParsePrefix("127.0.0.0/8")}}, MinRate: -1})
}

// index is a listing of nginx.
func index(rows ...string) string {
	return "<html><head><title>Index of /</title></head><body><h1>Index of /</h1><hr><pre><a href=\"../\">../</a>\n" + strings.Join(rows, "") + "</pre><hr></body></html>"
}

func row(link, size string) string {
	return "<a href=\"" + link + "\">" + link + "</a>   20-Nov-2026 09:05   " + size + "\n"
}

// served serves pages by path.
func served(t *testing.T, pages map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, there := pages[r.URL.Path]
		switch {
		case !there:
			http.NotFound(w, r)
		case page == "moved":
			http.Redirect(w, r, "/elsewhere/", http.StatusFound)
		case page == "busy":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusServiceUnavailable)
		case page == "half":
			w.Header().Set("Content-Length", "5000")
			_, _ = io.WriteString(w, index()[:40])
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, page)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestFind: the files of a directory and of those below it, by the rules.
func TestFind(t *testing.T) {
	t.Parallel()
	at := served(t, map[string]string{
		"/":              index(row("night/", "-"), row("readme", "12")),
		"/night/":        index(row("a.fits", "100"), row("b.fits", "5K"), row("c.txt", "7"), row("one/", "-"), row("two%20/", "-"), row("/etc/passwd", "1")),
		"/night/one/":    index(row("d.fits", "100")),
		"/night/two /":   index(row("x/", "-"), strings.Replace(row("e.fits", "100"), "2026", "2020", 1)),
		"/night/two /x/": index("<a href=\"f.fits\">f</a>\n"),
	})
	since := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		rules       Rules
		want        []string
		directories int
		left        map[Rule]int
	}{
		"all of one":          {Rules{}, []string{"a.fits", "b.fits", "c.txt"}, 1, map[Rule]int{ByLink: 1}},
		"all":                 {Rules{Recursive: true}, []string{"a.fits", "b.fits", "c.txt", "one/d.fits", "two /e.fits", "two /x/f.fits"}, 4, map[Rule]int{ByLink: 1}},
		"by name":             {Rules{Recursive: true, Pattern: "[a-d].fits"}, []string{"a.fits", "b.fits", "one/d.fits"}, 4, map[Rule]int{ByLink: 1, ByPattern: 3}},
		"by path":             {Rules{Recursive: true, Pattern: "*/*.fits"}, []string{"one/d.fits", "two /e.fits"}, 4, map[Rule]int{ByLink: 1, ByPattern: 4}},
		"by age":              {Rules{Recursive: true, NewerThan: since}, []string{"a.fits", "b.fits", "c.txt", "one/d.fits", "two /x/f.fits"}, 4, map[Rule]int{ByLink: 1, ByAge: 1}},
		"by size":             {Rules{MaxSize: 99}, []string{"c.txt"}, 1, map[Rule]int{ByLink: 1, BySize: 2}},
		"by size that is not": {Rules{MaxSize: 2560}, []string{"a.fits", "b.fits", "c.txt"}, 1, map[Rule]int{ByLink: 1}},
		"by several rules":    {Rules{Recursive: true, Pattern: "*.fits", NewerThan: since, MaxSize: 100}, []string{"a.fits", "one/d.fits", "two /x/f.fits"}, 4, map[Rule]int{ByLink: 1, ByPattern: 1, ByAge: 1, BySize: 1}},
	} {
		f, err := Find(t.Context(), client(t), at+"/night", c.rules, Most)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		paths := []string{}
		for _, file := range f.Files {
			paths = append(paths, file.Path)
		}
		slices.Sort(paths)
		if d := cmp.Diff(c.want, paths); d != "" || f.Directories != c.directories || !maps.Equal(c.left, f.LeftOut) {
			t.Errorf("%s: %s\n%d directories, left out %v", name, d, f.Directories, f.LeftOut)
		}
	}
}

// TestNothingIsFoundInPart: where one listing cannot be read, nothing was found, and the error
// names it.
func TestNothingIsFoundInPart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		page string
		is   error
		says string
	}{
		"cut off":     {index(row("b", "1"))[:100], listing.ErrCutOff, "/bad/: the listing stops"},
		"no listing":  {"<html><body>Sign in</body></html>", listing.ErrNoListing, "/bad/: this is no listing"},
		"moved":       {"moved", listing.ErrNoListing, "redirects to"},
		"busy":        {"busy", nil, "/bad/"},
		"half a page": {"half", nil, "/bad/"},
	} {
		pages := map[string]string{"/": index(row("a", "1"), row("bad/", "-")), "/bad/": c.page, "/elsewhere/": index()}
		f, err := Find(t.Context(), client(t), served(t, pages), Rules{Recursive: true}, Most)
		if f != nil || err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v %v", name, f, err)
		}
		if of, asked := errors.AsType[*fetch.Error](err); c.is == nil && (!asked || !of.Temporary) {
			t.Errorf("%s: %v is not temporary", name, err)
		}
	}
}

// TestBounds: a directory that has no end, or too much, is an error.
func TestBounds(t *testing.T) {
	t.Parallel()
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, index(row("loop/", "-"), row("a", "1")))
	}))
	t.Cleanup(endless.Close)
	large := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><title>Index of /</title><pre>")
		for i := 0; ; i++ { // until the client has gone
			if _, err := fmt.Fprint(w, row(fmt.Sprintf("f%07d", i), "1")); err != nil {
				return
			}
		}
	}))
	t.Cleanup(large.Close)
	wide := make([]string, 50)
	for i := range wide {
		wide[i] = row(fmt.Sprintf("d%d/", i), "-")
	}
	for name, c := range map[string]struct {
		at   string
		most Bounds
		is   error
	}{
		"a loop":            {endless.URL, Bounds{Files: 1000, Directories: 1000, Depth: 5, Bytes: 1 << 20}, ErrBounds},
		"many files":        {large.URL, Bounds{Files: 1000, Directories: 10, Depth: 5, Bytes: 1 << 30}, ErrBounds},
		"a long page":       {large.URL, Bounds{Files: 1 << 30, Directories: 10, Depth: 5, Bytes: 1 << 20}, nil},
		"many directories":  {served(t, map[string]string{"/": index(wide...)}), Bounds{Files: 1000, Directories: 50, Depth: 5, Bytes: 1 << 20}, ErrBounds},
		"files in all":      {endless.URL, Bounds{Files: 5, Directories: 1000, Depth: 50, Bytes: 1 << 20}, ErrBounds},
		"another file more": {served(t, map[string]string{"/": index(row("a", "1"), row("b", "1"))}), Bounds{Files: 1, Directories: 10, Depth: 5, Bytes: 1 << 20}, ErrBounds},
	} {
		if f, err := Find(t.Context(), client(t), c.at, Rules{Recursive: true}, c.most); f != nil || err == nil || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAsked: what is no URL of a directory, or no rule, is refused before anything is asked.
func TestAsked(t *testing.T) {
	t.Parallel()
	for at, rules := range map[string]Rules{"": {}, "night": {}, "/night/": {}, "http://h/?C=N": {}, "http://h/#a": {}, "http://h/": {Pattern: "[a"}, "http://h/x/": {MaxSize: -1}} {
		if _, err := Find(t.Context(), unasked{t}, at, rules, Most); err == nil {
			t.Errorf("%q %+v is taken", at, rules)
		}
	}
}

// unasked fails the test when it is asked.
type unasked struct{ t *testing.T }

func (n unasked) Get(_ context.Context, url string, _ fetch.GetOptions) (io.ReadCloser, fetch.Info, error) {
	n.t.Error(url + " is asked for")
	return nil, fetch.Info{}, errors.New("not to be asked")
}

func (n unasked) List(_ context.Context, url string) iter.Seq2[fetch.Object, error] {
	n.t.Error(url + " is asked for")
	return nil
}
