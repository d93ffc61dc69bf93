package repocheck

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// allPoints is the test that dies once at each crash point.
var allPoints = Shown{"cmd/accession/e2e", "TestEveryCrashPoint"}

func promisesPage(shown map[string][]Shown) string {
	var b strings.Builder
	b.WriteString("# Promises\n\nWhat Accession promises, and the tests that show it: each names the promise in its\n" +
		"comment (`Shows: P1`). `make generate` writes this page; a promise without a test goes\n" +
		"red. After each run with faults the histories of all batches, jobs and files are looked\n" +
		"at (legal, without holes, the registers linearizable, the claims of each one after the\n" +
		"other), and compared with the live tree, the tables and the working directories\n" +
		"([verify.md](verify.md)). [mutants.md](mutants.md) shows that tests go red without what\n" +
		"they are there for.\n\nThe functions of `eventstore/storetest` run against ZooKeeper, NATS and memory, as\n`TestConformance` of each. Those whose names begin with `TestSoak` run for long, by\n`make soak` ([testing.md](testing.md)).\n")
	for _, p := range Promises {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", p.ID, p.Says)
		for _, t := range shown[p.ID] {
			fmt.Fprintf(&b, "- %s `%s`\n", t.Package, t.Test)
		}
	}
	return b.String()
}

func matrixPage(shown map[string][]Shown) string {
	var b strings.Builder
	b.WriteString("# Crash matrix\n\nWhat a crash leaves behind on the way of an event from ZooKeeper to the log and the\n" +
		"tables, what must happen then, and the tests that show it: each names the row in its\n" +
		"comment (`Shows: C1`). `make generate` writes this page; a row without a test goes red.\n\n" +
		"| row | crash | what is left | what must happen | tests |\n|---|---|---|---|---|\n")
	for _, c := range Crashes {
		tests := inWords(shown[c.ID])
		if len(c.Points) > 0 {
			at := allPoints.Package + " `" + allPoints.Test + "` at `" + strings.Join(c.Points, "`, `") + "`"
			tests = strings.TrimSuffix(at+"; "+tests, "; ")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c.ID, c.Crash, c.Left, c.Says, tests)
	}
	return b.String()
}

// TestPromisesAreShown compares the pages with what the tests say that they show.
func TestPromisesAreShown(t *testing.T) {
	t.Parallel()
	root := repository(t)
	shown, err := showsAll(root)
	if err != nil {
		t.Fatal(err)
	}
	points, err := Points(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range slices.Concat(Promises, Crashes) {
		if len(shown[c.ID]) == 0 && len(c.Points) == 0 {
			t.Errorf("no test shows %s: %s", c.ID, c.Says)
		}
		for _, name := range c.Points {
			if !slices.ContainsFunc(points, func(p Point) bool { return p.Name == name }) {
				t.Errorf("%s: there is no crash point %s", c.ID, name)
			}
		}
	}
	if !slices.Contains(shown["P1"], allPoints) {
		t.Errorf("there is no %s in %s that shows P1", allPoints.Test, allPoints.Package)
	}
	for page, want := range map[string]string{"docs/promises.md": promisesPage(shown), "docs/crash-matrix.md": matrixPage(shown)} {
		if *update {
			if err := os.WriteFile(filepath.Join("..", "..", filepath.FromSlash(page)), []byte(want), 0o644); err != nil {
				t.Error(err)
			}
			continue
		}
		if text, err := fs.ReadFile(root, page); err != nil || string(text) != want {
			t.Errorf("%s is not what the tests say (%v): run `make generate`", page, err)
		}
	}
}

func TestMarkers(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"// TestA does.\n// Shows: P1 C2\nfunc TestA() {}":           "P1 C2",
		"// testB does.\n// Shows: P1\nfunc testB() {}":              "P1",
		"// TestA does.\n// Shows: P10\nfunc TestA() {}":             "no promise",
		"// a does.\n// Shows: P1\nfunc a() {}":                      "nowhere else",
		"func TestA() {\n\t// Shows: P1\n}":                          "nowhere else",
		"// TestA does.\n//\n// Shows: P1\n\nfunc TestA() {}":        "nowhere else",
		"// TestA shows what it does, P1 among it.\nfunc TestA() {}": "",
	} {
		shown, err := showsAll(fstest.MapFS{"domain/a_test.go": {Data: []byte("package p\n\n" + body + "\n")}})
		switch {
		case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", body, err, want)
		case err == nil:
			var ids []string
			for id := range shown {
				ids = append(ids, id)
			}
			slices.Sort(ids)
			slices.Reverse(ids)
			if strings.Join(ids, " ") != want {
				t.Errorf("%s shows %v, want %q", body, ids, want)
			}
		}
	}
}
