package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// seed returns what a test's choices follow from, and prints it.
func seed(t testing.TB) *rand.Rand {
	t.Helper()
	n := uint64(time.Now().UnixNano())
	if s := os.Getenv("ACCESSION_TEST_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &n); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d (ACCESSION_TEST_SEED repeats it)", n)
	return rand.New(rand.NewPCG(n, 0))
}

// share returns of how many steps, kinds or damages one is taken in this run, and the first of them, as its
// seed draws it: with ACCESSION_TEST_STEPS=all, as make soak and make mutants have it, all are.
func share(t testing.TB) (first, of int) {
	t.Helper()
	if os.Getenv("ACCESSION_TEST_STEPS") == "all" {
		return 0, 1
	}
	return seed(t).IntN(3), 3
}

// thirdOf returns those of the steps at which a process dies in this run, or of the kinds and damages
// that it takes: one at least.
func thirdOf[S any](t testing.TB, all []S) (some []S) {
	t.Helper()
	first, of := share(t)
	for i := first % len(all); i < len(all); i += of {
		some = append(some, all[i])
	}
	return some
}

// The shortcuts for speed. Everything must hold with each of them on and off.
var shortcuts = []string{"group_commit", "relay_hints", "hand_over"}

// without returns the settings that switch all shortcuts off.
func without() (set []string) {
	for _, name := range shortcuts {
		set = append(set, name+"=false")
	}
	return set
}

// drawn returns settings with each shortcut in a position that is drawn, and prints
// them.
func drawn(t testing.TB, r *rand.Rand) (set []string) {
	t.Helper()
	for _, name := range shortcuts {
		set = append(set, fmt.Sprintf("%s=%v", name, r.IntN(2) == 0))
	}
	t.Log(strings.Join(set, " "))
	return set
}
