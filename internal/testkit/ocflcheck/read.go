package ocflcheck

import (
	_ "embed"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

//go:embed read.cjs
var program string

// Digests are the SHA-256 of files, by object, version and name.
type Digests map[string]map[string]map[string]string

// Read reads a storage root with ocfl-fs: the objects with these ids, all without ids.
func Read(t testing.TB, dir string, ids ...string) (all Digests) {
	t.Helper()
	library := filepath.Join(root(t), "bin", "ocfl")
	if _, err := os.Stat(filepath.Join(library, "node_modules", "@ocfl", "ocfl-fs")); err != nil {
		t.Fatal("ocfl-fs is missing: deploy/setup/ocfl.sh bin/ocfl installs it")
	}
	out, err := exec.CommandContext(t.Context(), "node", append([]string{"-e", program, "--", "read.cjs", library, dir}, ids...)...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("ocfl-fs: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return all
}

// root returns the directory of go.mod.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("the test runs outside the repository")
	return ""
}
