package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Mutant is one protection that is taken away, and the test that must notice.
type Mutant struct {
	Name string // the protection
	Why  string // what happens without it
	Was  bool   // the program once was like this

	File     string // path from the repository's root
	Old, New string // Old stands in the file exactly once

	Package string // path from the repository's root
	Test    string // a test, or one of its subtests
	// Hangs: without the protection the test waits for what never comes.
	Hangs bool
}

// Mutants are all rows of the table.
func Mutants() []Mutant {
	return slices.Concat(claims, commits, outbox, events, tables, world, bugs)
}

// mutate gives the changed text of the file.
func (m Mutant) mutate(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.File)))
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.Name, err)
	}
	if n := strings.Count(string(text), m.Old); n != 1 {
		return "", fmt.Errorf("%s: this stands in %s %d times, and must once:\n%s", m.Name, m.File, n, m.Old)
	}
	return strings.Replace(string(text), m.Old, m.New, 1), nil
}

// pattern selects the row's test alone.
func (m Mutant) pattern() string {
	parts := strings.Split(m.Test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// hasTest looks for the test in the package's files; a subtest is found only by
// running it.
func (m Mutant) hasTest(root string) (bool, error) {
	name, _, _ := strings.Cut(m.Test, "/")
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(m.Package), "*_test.go"))
	if err != nil {
		return false, err
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return false, err
		}
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)") {
			return true, nil
		}
	}
	return false, nil
}

// findRoot finds the repository's root by its go.mod.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod here or above: run it in the repository")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}
