package repocheck

import (
	"cmp"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestOneSeedARun: `make test` prints a seed before its tests, another one each time unless
// it is given, and hands it to them.
func TestOneSeedARun(t *testing.T) {
	t.Parallel()
	text, err := fs.ReadFile(repository(t), "Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^test: export ACCESSION_TEST_SEED := `).Match(text) {
		t.Error("the tests of `make test` do not get the seed: it must be chosen once, and exported")
	}
	printed := regexp.MustCompile(`(?m)^echo 'seed (\d+) \(ACCESSION_TEST_SEED=(\d+) make test`)
	seed := func(given string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), "make", "--dry-run", "test")
		c.Dir = "../.."
		c.Env = append(slices.DeleteFunc(os.Environ(), func(s string) bool {
			return strings.HasPrefix(s, "MAKE") || strings.HasPrefix(s, "MFLAGS=") // of a make that runs this test
		}), "ACCESSION_TEST_SEED="+given)
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		found := printed.FindSubmatchIndex(out)
		if found == nil {
			t.Fatalf("`make test` prints no seed:\n%s", out)
		}
		if tests := strings.Index(string(out), "go test"); tests < found[0] {
			t.Errorf("`make test` prints the seed after its first test")
		}
		one, two := string(out[found[2]:found[3]]), string(out[found[4]:found[5]])
		if one != two || cmp.Or(given, one) != one {
			t.Errorf("the seed %q is printed as %s, and to be repeated as %s", given, one, two)
		}
		return one
	}
	seed("4711")
	if a, b := seed(""), seed(""); a == b {
		t.Errorf("the same seed twice: %s", a)
	}
}
