package store

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/accession-ingest/accession/internal/testkit/ocflcheck"
)

// TestOCFLWriterThatIsKilled: a process that stores a version in OCFL dies before and after each
// of its effects. Until the next attempt the object has its earlier versions or the new one too,
// and other programs take it for valid, but where an inventory is being replaced; the next
// attempt completes it, once, and leaves nothing beside it.
// Shows: P13
func TestOCFLWriterThatIsKilled(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "writer")
	if out, err := exec.Command("go", "build", "-tags", "crashpoints", "-o", binary, "./testdata/writer").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, number := range []string{"1", "2"} {
		t.Run(number, func(t *testing.T) {
			t.Parallel()
			passed := filepath.Join(t.TempDir(), "passed")
			writes(t, binary, before(t, binary, number), number, "ACCESSION_PASSED="+passed)
			text, err := os.ReadFile(passed)
			if err != nil {
				t.Fatal(err)
			}
			points := strings.Fields(string(text))
			placed := slices.Index(points, "store/ocfl/install/after")
			if placed < 0 {
				t.Fatalf("the points are %v", points)
			}
			hits, killed := map[string]int{}, 0
			for i, point := range points {
				// Files are written in parallel: how often other points are passed differs.
				if hits[point]++; hits[point] > 1 && !strings.HasPrefix(point, "store/ocfl/") && !strings.HasPrefix(point, "store/put/rename/") {
					continue
				}
				killed++
				at := fmt.Sprintf("%s:%d", point, hits[point])
				dir := before(t, binary, number)
				dies(t, binary, dir, number, at)
				s := open(t, dir)
				has := 0
				for n := range 2 {
					if _, _, _, err := s.FindManifest(t.Context(), "ark:/99999/fk4x", n+1); err == nil {
						has++
					} else if CodeOf(err) != CodeNotFound {
						t.Errorf("%s: version %d: %v", at, n+1, err)
					}
				}
				want := 0
				if number == "2" {
					want++
				}
				if i >= placed {
					want++
				}
				if has != want {
					t.Errorf("%s: the object has %d versions, want %d", at, has, want)
				}
				objects, faults := ocflcheck.Check(os.DirFS(dir + "/ocfl"))
				// The root is being declared, or the inventory of the second version has its
				// place in the object and not at its root.
				declares, replaces := number == "1" && i < placed, number == "2" && i >= placed
				if len(faults) > 0 && !declares && !replaces || declares && len(objects) > 0 {
					t.Errorf("%s: %v: %v", at, objects, faults)
				}
				writes(t, binary, dir, number)
				objects, faults = ocflcheck.Check(os.DirFS(dir + "/ocfl"))
				if len(faults) > 0 || len(objects) != 1 {
					t.Errorf("%s: after the next attempt: %v: %v", at, objects, faults)
				}
				if left, err := filepath.Glob(dir + "/tmp/ocfl-*"); err != nil || len(left) > 0 {
					t.Errorf("%s: the next attempt leaves %v (%v)", at, left, err)
				}
			}
			t.Logf("killed at %d points", killed)
		})
	}
}

// before returns a store with the versions before one.
func before(t *testing.T, binary, number string) string {
	t.Helper()
	dir := t.TempDir()
	if number == "2" {
		writes(t, binary, dir, "1")
	}
	return dir
}

func writes(t *testing.T, binary, dir, number string, env ...string) {
	t.Helper()
	cmd := exec.Command(binary, dir, number)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func dies(t *testing.T, binary, dir, number, at string) {
	t.Helper()
	cmd := exec.Command(binary, dir, number)
	cmd.Env = append(os.Environ(), "ACCESSION_CRASH="+at)
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%s: it was to be killed: %v", at, err)
	}
}
