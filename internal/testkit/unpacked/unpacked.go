// Package unpacked finds what the scripts in deploy/setup unpack below bin for tests: web
// servers, a browser, a reader of OCFL.
package unpacked

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir returns the directory bin/NAME of the repository.
func Dir(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "bin", name)
		}
	}
	t.Fatal("the test runs outside the repository")
	return ""
}
