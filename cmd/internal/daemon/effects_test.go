package daemon

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// The page on effects lists every effect of this package and of those below it that has
// crash points, and no other.
func TestEffectsPageListsEveryCrashPoint(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.FromSlash("../../../docs/effects.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed, there []string
	for _, m := range regexp.MustCompile("\\| `(daemon/[^`]*)`").FindAllSubmatch(page, -1) {
		listed = append(listed, string(m[1]))
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	sources = append(sources, below...)
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?:crash\.Around\("daemon/|effect\("|\bMake\(ctx, [a-zA-Z.]+, ")([^"+]+)"`).FindAllSubmatch(text, -1) {
			there = append(there, "daemon/"+string(m[1]))
		}
	}
	slices.Sort(listed)
	slices.Sort(there)
	if !slices.Equal(listed, there) || len(there) == 0 {
		t.Errorf("the page lists\n%q\nand the code has\n%q", listed, there)
	}
}
