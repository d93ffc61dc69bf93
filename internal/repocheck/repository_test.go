package repocheck

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// repository finds the root by its go.mod, from the folder that the test runs in.
func repository(t *testing.T) fs.FS {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return os.DirFS(dir)
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			t.Fatalf("no go.mod above the test's folder: %v", err)
		}
		dir = filepath.Dir(dir)
	}
}

// TestRepository applies every rule to this repository.
func TestRepository(t *testing.T) {
	t.Parallel()
	root := repository(t)
	for name, check := range map[string]func(fs.FS) ([]Finding, error){
		"imports":   CheckImports,
		"purity":    CheckPurity,
		"layout":    CheckLayout,
		"text":      CheckText,
		"effects":   CheckEffects,
		"sizes":     CheckSizes,
		"machinery": CheckMachinery,
		"codes":     CheckCodes,
		"reached":   CheckReached,
		"crumbs":    CheckCrumbs,
		"words":     CheckWords,
		"sql":       CheckSQL,
		"tour":      CheckTour,
		"glossary":  CheckGlossary,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := check(root)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				t.Error(f)
			}
		})
	}
}

// TestFilesAreShort only reports.
func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	long, err := LongFiles(repository(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range long {
		t.Log("warning:", f)
	}
}

var update = flag.Bool("update", false, "write docs/dependencies.md anew")

// TestDependenciesPage compares docs/dependencies.md with the table and the imports.
func TestDependenciesPage(t *testing.T) {
	t.Parallel()
	root := repository(t)
	want, err := DependenciesPage(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range Libraries {
		if l.Licence == "" || l.Why == "" {
			t.Errorf("%s has no licence or no reason in libraries.go", l.Path)
		}
	}
	if *update {
		if err := os.WriteFile(filepath.Join("..", "..", "docs", "dependencies.md"), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text, err := fs.ReadFile(root, "docs/dependencies.md"); err != nil || string(text) != want {
		t.Errorf("docs/dependencies.md is not what libraries.go and the imports have (%v): run `make generate`", err)
	}
}
