package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
)

// TestDemoLeavesOthersAlone: a directory that is not a demonstration's, and one in
// which another runs.
func TestDemoLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	foreign, running := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "letter.txt"), []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(running, "stack.json"), []byte(`{"id":"x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(running, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string][2]string{
		foreign: {"is not a stack's data directory, so it is left alone", "hint: name a new directory with --dir"},
		running: {"stop it, or choose another directory", "hint: stop it first, or name another directory with --dir"},
	} {
		code, _, errs := call(t, nil, "demo", "--dir", dir)
		if code != exit.Refused || !strings.Contains(errs, want[0]) || !strings.Contains(errs, want[1]) {
			t.Errorf("demo in %s: exit code %d, %s", dir, code, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(foreign, "letter.txt")); err != nil {
		t.Errorf("another user's file is gone: %v", err)
	}
}
