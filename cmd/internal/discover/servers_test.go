package discover

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/internal/testkit/webserver"
)

// TestServers: what each kind of server lists of a directory is what is there, with names
// that a link has to escape, with directories below and with an empty one.
func TestServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for at := dir; at != filepath.Dir(at) && strings.HasPrefix(at, os.TempDir()+"/"); at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil { //nolint:gosec // the servers' own users read it
			t.Fatal(err)
		}
	}
	modified := time.Date(2026, 11, 20, 9, 5, 0, 0, time.UTC)
	sizes := map[string]int64{
		"a.fits": 0, "two words.txt": 3, "100%.txt": 4, "ä ö.txt": 5, "a&b<c>.txt": 6, "q?x=1.txt": 7, "h#1.txt": 8, "plus+1.txt": 9,
		"night/b.fits": 1500, "night/a very long name that servers cut off where they have columns of a width, to the very end.fits": 20,
		"night/one/c.fits": 2 << 20, "semi;colon.txt": 10, "it's.txt": 11, "[x].txt": 12,
	}
	for name, size := range sizes {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil { //nolint:gosec // as above
			t.Fatal(err)
		}
		if err := os.WriteFile(at, make([]byte, size), 0o644); err != nil { //nolint:gosec // as above
			t.Fatal(err)
		}
		if err := os.Chtimes(at, modified, modified); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil { //nolint:gosec // as above
		t.Fatal(err)
	}
	want := []string{}
	for name := range sizes {
		want = append(want, name)
	}
	slices.Sort(want)
	for _, kind := range webserver.Kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			at := webserver.List(t, kind, dir)
			f, err := Find(t.Context(), client(t), at, Rules{Recursive: true}, Most)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, file := range f.Files {
				if small := (Rules{MaxSize: sizes[file.Path]}).leaveOut(file); small != "" && sizes[file.Path] > 0 {
					t.Errorf("%s is left out as larger than it is", file.Path)
				}
				got = append(got, file.Path)
				if fault := differs(file, at, sizes[file.Path], modified); fault != "" {
					t.Error(file.Path, fault)
				}
			}
			slices.Sort(got)
			if kind == "caddy" { // names itself at the end of each page
				f.LeftOut[ByLink] -= 4
			}
			if d := cmp.Diff(want, got); d != "" || f.leftOut() != 0 || f.Directories != 4 {
				t.Errorf("%s\n%d directories, left out %v %v", d, f.Directories, f.LeftOut, f.Links)
			}
		})
	}
}

// differs says what is wrong with a file that was found, "" = nothing.
func differs(f File, at string, size int64, modified time.Time) string {
	leads, err := url.Parse(f.URL)
	switch {
	case err != nil || leads.Path != "/"+f.Path || !strings.HasPrefix(f.URL, at+"/"):
		return "leads to " + f.URL
	case f.Size >= 0 && !f.Rounded && f.Size != size, f.Rounded && f.Size > 1<<10 && (f.Size < size/2 || f.Size > 2*size):
		return fmt.Sprintf("has %d bytes, rounded: %v", f.Size, f.Rounded)
	case !f.Modified.IsZero() && !f.Modified.Truncate(time.Minute).Equal(modified):
		return fmt.Sprint("was modified ", f.Modified)
	}
	return ""
}
