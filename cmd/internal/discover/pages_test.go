package discover

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
)

// TestPagesThatAreKnown: each listing is asked for by what is known of it; those that have not
// changed are not read, and the directories in them are searched all the same.
func TestPagesThatAreKnown(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"/":        index(row("a/", "-"), row("x.fits", "1"), row("notes", "1")),
		"/a/":      index(row("deep/", "-"), row("/elsewhere", "1")),
		"/a/deep/": index(row("y.fits", "1"), row("z.fits", "1")),
	}
	var read []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := pages[r.URL.Path]
		sum := fnv.New32()
		_, _ = io.WriteString(sum, page)
		tag := fmt.Sprintf(`"%x"`, sum.Sum32())
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		read = append(read, r.URL.Path)
		w.Header().Set("ETag", tag)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, page)
	}))
	t.Cleanup(s.Close)
	rules := Rules{Recursive: true, Pattern: "*.fits"}
	known := map[string]Page{}
	find := func(want ...string) (*Found, error) {
		t.Helper()
		read = nil
		f, err := FindChanged(t.Context(), client(t), s.URL+"/", rules, Most, known)
		if !slices.Equal(read, want) {
			t.Errorf("read %v, want %v", read, want)
		}
		if f != nil {
			for _, p := range f.Pages {
				known[p.Path] = p
			}
		}
		return f, err
	}
	f, err := find("/", "/a/", "/a/deep/")
	if err != nil || len(f.Files) != 3 || len(f.Pages) != 3 || f.Directories != 3 {
		t.Fatalf("%+v, %v", f, err)
	}
	if _, err := find(); !errors.Is(err, fetch.ErrUnchanged) {
		t.Errorf("all are the same: %v", err)
	}
	pages["/a/deep/"] = index(row("y.fits", "1"))
	f, err = find("/a/deep/")
	if err != nil || len(f.Files) != 1 || f.Files[0].Path != "a/deep/y.fits" || len(f.Unchanged) != 2 || f.Directories != 3 || f.LeftOut[ByPattern] != 1 || f.LeftOut[ByLink] != 1 {
		t.Errorf("%+v, %v", f, err)
	}

	// What is known from another address is not known.
	moved := known["a/"]
	moved.URL = "https://data.example.org/a/"
	known["a/"] = moved
	if f, err = find("/a/"); err != nil || len(f.Unchanged) != 2 {
		t.Errorf("%+v, %v", f, err)
	}

	// The files of listings that have not changed count against the bounds.
	pages["/"] = index(row("a/", "-"), row("x.fits", "1"))
	if f, err := FindChanged(t.Context(), client(t), s.URL+"/", rules, Bounds{Files: 2, Directories: 10, Depth: 5, Bytes: 1 << 20}, known); !errors.Is(err, ErrBounds) {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err := FindChanged(t.Context(), client(t), s.URL+"/", rules, Bounds{Files: 3, Directories: 10, Depth: 5, Bytes: 1 << 20}, known); err != nil || len(f.Files) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestLongETags: a validator that is not worth keeping is not kept.
func TestLongETags(t *testing.T) {
	t.Parallel()
	for length, want := range map[int]int{100: 1, 10_000: 0} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"`+strings.Repeat("x", length)+`"`)
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, index())
		}))
		t.Cleanup(s.Close)
		f, err := Find(t.Context(), client(t), s.URL+"/", Rules{}, Most)
		if err != nil || len(f.Pages) != want {
			t.Errorf("%d bytes: %+v, %v", length, f, err)
		}
	}
}
