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

// TestDirectoryIsDeposited runs what docs/depositing.md shows, with and without --server: from a
// directory of files to what is stored, as it is, by a manifest as one object, and as an object
// for each file. The page has the manifest that is made.
func TestDirectoryIsDeposited(t *testing.T) {
	t.Parallel()
	in := newForProcesses(t, "attempts: 3")
	page, err := os.ReadFile("../../../docs/depositing.md")
	in.must(err)
	in.must(os.WriteFile(filepath.Join(filepath.Dir(in.profileFile()), "maps.yaml"), []byte(strings.ReplaceAll(profileOf("attempts: 3"), ": test\n", ": maps\n")), 0o600))
	s := in.serve()
	s.works()
	defer s.stop()
	front := []string{"ACCESSION_SERVER=" + in.door().url, "ACCESSION_API_KEY=ana depositor/maps"}
	for _, way := range []struct {
		environ []string
		each    bool // each file is an object
	}{{}, {each: true}, {environ: front}} {
		home := t.TempDir()
		for name, text := range map[string]string{"north.txt": "north\n", "sheets/1 a.txt": "sheet 1\n"} {
			at := filepath.Join(home, "maps", name)
			in.must(os.MkdirAll(filepath.Dir(at), 0o700))
			in.must(os.WriteFile(at, []byte(text), 0o600))
		}
		base := webServer(t, http.FileServer(http.Dir(home))) + "/maps"
		types := func(line string) string {
			t.Helper()
			cmd := in.command(strings.Fields(strings.ReplaceAll(strings.TrimPrefix(line, "accession "), "https://example.org/maps", base))...)
			cmd.Dir, cmd.Env = home, append(cmd.Env, way.environ...)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
			return string(out)
		}
		if !way.each {
			if out := types(between(t, string(page), "as it is\n\n```\n", "\n```")); !strings.Contains(out, "completed: 1 jobs listed, 1 completed") {
				t.Errorf("the directory as it is: %s", out)
			}
		}
		for line := range strings.Lines(between(t, string(page), "served as", "With `--each`")) {
			if !strings.HasPrefix(line, "accession ") {
				continue
			}
			if way.each {
				line = strings.Replace(strings.Replace(line, "manifest make", "manifest make --each", 1), "object_manifest", "file_batch_manifest", 1)
			}
			types(line)
		}
		made, err := os.ReadFile(filepath.Join(home, "maps.checkm"))
		in.must(err)
		if !way.each && undated(string(made)) != undated(strings.ReplaceAll(between(t, string(page), "two files:\n\n```\n", "```"), "https://example.org/maps", base)) {
			t.Errorf("the page has another manifest than the one that is made:\n%s", made)
		}
	}
	if n := in.count("select count(*) from record.object_version where profile_name = 'maps'"); n != 6 {
		t.Errorf("%d versions are stored, want two of the directory, two of the object and one of each file", n)
	}
	if n := in.count("select count(*) from record.object_version where submitter = 'ana'"); n != 2 {
		t.Errorf("%d versions were deposited over HTTP, want 2", n)
	}
	if n := in.count("select count(*) from record.object_file where name in ('north.txt', 'sheets/1 a.txt')"); n != 10 {
		t.Errorf("%d files are stored, want 10", n)
	}
}

// between returns what stands between two texts of a page.
func between(t testing.TB, page, after, before string) string {
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
