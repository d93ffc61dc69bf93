package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDirectoryIsDeposited runs what docs/depositing.md shows: from a directory of files to
// what is stored, as it is, by a manifest as one object, and as an object for each file. The page has the manifest that
// is made.
func TestDirectoryIsDeposited(t *testing.T) {
	t.Parallel()
	in := newForProcesses(t, "attempts: 3")
	page, err := os.ReadFile("../../../docs/depositing.md")
	in.must(err)
	dir, files := filepath.Join(t.TempDir(), "maps"), map[string]string{"north.txt": "north\n", "sheets/1 a.txt": "sheet 1\n"}
	for name, text := range files {
		at := filepath.Join(dir, name)
		in.must(os.MkdirAll(filepath.Dir(at), 0o700))
		in.must(os.WriteFile(at, []byte(text), 0o600))
	}
	base := webServer(t, http.StripPrefix("/maps/", http.FileServer(http.Dir(dir)))) + "/maps"
	s := in.serve()
	s.works()
	defer s.stop()
	whole := strings.NewReplacer("accession ", "", "--profile maps", "--profile test", "maps/", dir).Replace(between(t, string(page), "as it is\n\n```\n", "\n```"))
	if out := in.run(strings.Fields(whole)...); !strings.Contains(out, "completed: 1 jobs listed, 1 completed") {
		t.Errorf("the directory as it is: %s", out)
	}
	for _, each := range []bool{false, true} {
		out := filepath.Join(t.TempDir(), "maps.checkm")
		there := strings.NewReplacer("accession ", "", "--out maps.checkm", "--out "+out, "https://example.org/maps", base, "make maps", "make "+dir,
			"check maps.checkm", "check "+out, "--profile maps", "--profile test", "manifest maps.checkm", "manifest "+out)
		for line := range strings.Lines(between(t, string(page), "served as", "With `--each`")) {
			if !strings.HasPrefix(line, "accession ") {
				continue
			}
			args := strings.Fields(there.Replace(line))
			if each && args[1] == "make" {
				args = append(args, "--each")
			}
			for i, a := range args {
				if each && a == "object_manifest" {
					args[i] = "file_batch_manifest"
				}
			}
			in.run(args...)
		}
		made, err := os.ReadFile(out)
		in.must(err)
		if !each && undated(string(made)) != undated(strings.ReplaceAll(between(t, string(page), "two files:\n\n```\n", "```"), "https://example.org/maps", base)) {
			t.Errorf("the page has another manifest than the one that is made:\n%s", made)
		}
	}
	if n := in.count("select count(*) from record.object_version"); n != 4 {
		t.Errorf("%d versions are stored, want one of the directory, one of the object and one of each file", n)
	}
	if n := in.count("select count(*) from record.object_file where name in ('north.txt', 'sheets/1 a.txt')"); n != 6 {
		t.Errorf("%d files are stored, want 6", n)
	}
}

// between returns what stands between two texts of a page.
func between(t *testing.T, page, after, before string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, after)
	text, _, also := strings.Cut(rest, before)
	if !ok || !also {
		t.Fatal(fmt.Errorf("the page has nothing between %q and %q", after, before))
	}
	return text
}

var times = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// undated replaces the times of files.
func undated(manifest string) string { return times.ReplaceAllString(manifest, "TIME") }
