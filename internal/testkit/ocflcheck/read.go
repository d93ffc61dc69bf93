package ocflcheck

import (
	_ "embed"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/accession-ingest/accession/internal/testkit/unpacked"
)

//go:embed read.cjs
var program string

// Digests are the SHA-256 of files, by object, version and name.
type Digests map[string]map[string]map[string]string

// Read reads a storage root with ocfl-fs: the objects with these ids, all without ids.
func Read(t testing.TB, dir string, ids ...string) (all Digests) {
	t.Helper()
	library := unpacked.Dir(t, "ocfl")
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
