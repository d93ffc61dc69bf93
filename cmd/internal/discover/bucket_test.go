package discover

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/internal/testkit/bucket"
)

// TestFilesOfABucket: a bucket is read as directories are, with the rules and bounds of all;
// keys that can be no path of a file are left out and counted.
func TestFilesOfABucket(t *testing.T) {
	t.Parallel()
	server := bucket.Serve(t, false, "sky")
	c, err := fetch.NewClient(fetch.Config{Buckets: fetch.Buckets{Endpoint: server.URL, AccessKey: bucket.AccessKey, SecretKey: bucket.SecretKey}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	policy, err := fetch.ParsePolicy([]string{"127.0.0.0/8", "s3://sky/"})
	if err != nil {
		t.Fatal(err)
	}
	from := c.With(policy)
	for key, size := range map[string]int{
		"night/a.fits": 0, "night/two words.txt": 3, "night/ä+%.fits": 4, "night/one/b.fits": 1500, "night/one/two/c.fits": 20, "night/large.fits": 5000, "day/a.fits": 1,
		"night//empty.fits": 1, "night/../above.fits": 1, "night/back\\slash.fits": 1, "night/line\nbreak.fits": 1,
	} {
		server.Put("sky", key, make([]byte, size))
	}
	for name, is := range map[string]struct {
		at    string
		rules Rules
		want  map[string]int64
		out   map[Rule]int
		dirs  int
	}{
		"one directory": {"s3://sky/night", Rules{}, map[string]int64{"a.fits": 0, "two words.txt": 3, "ä+%.fits": 4, "large.fits": 5000}, map[Rule]int{ByLink: 4}, 1},
		"all": {"s3://sky/", Rules{Recursive: true, Pattern: "*.fits", MaxSize: 4000}, map[string]int64{"night/a.fits": 0, "night/ä+%.fits": 4, "night/one/b.fits": 1500,
			"night/one/two/c.fits": 20, "day/a.fits": 1}, map[Rule]int{ByLink: 4, ByPattern: 1, BySize: 1}, 5},
		"nothing": {"s3://sky/noon/", Rules{Recursive: true}, map[string]int64{}, map[Rule]int{}, 1},
	} {
		f, err := Find(t.Context(), from, is.at, is.rules, Most)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := map[string]int64{}
		for _, file := range f.Files {
			got[file.Path] = file.Size
			if time.Since(file.Modified) > time.Hour {
				t.Errorf("%s was modified %v", file.Path, file.Modified)
			}
			if _, err := from.Head(t.Context(), file.URL); err != nil {
				t.Errorf("%s leads to %s: %v", file.Path, file.URL, err)
			}
		}
		if d := cmp.Diff(is.want, got) + cmp.Diff(is.out, f.LeftOut); d != "" || f.Directories != is.dirs {
			t.Errorf("%s: %d directories, %s", name, f.Directories, d)
		}
	}
	for name, most := range map[string]Bounds{"files": {3, 10, 5, 1 << 20}, "directories": {100, 3, 5, 1 << 20}, "depth": {100, 10, 1, 1 << 20}} {
		if _, err := Find(t.Context(), from, "s3://sky/", Rules{Recursive: true}, most); !errors.Is(err, ErrBounds) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = Find(t.Context(), from, "s3://sea/", Rules{}, Most)
	if e, ok := errors.AsType[*fetch.Error](err); !ok || e.Code != fetch.CodeAddressRefused {
		t.Error(err)
	}
}
