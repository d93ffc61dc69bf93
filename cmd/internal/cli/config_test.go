package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
)

func TestConfigCheckReadsTheProfiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	profiles := filepath.Join(dir, "profiles")
	check := func(code int, says ...string) {
		t.Helper()
		got, _, errs := call(t, []string{"ACCESSION_DATA_DIR=" + dir}, "--set", "outbox_shards=0", "config", "check")
		if got != code {
			t.Errorf("exit code %d, want %d", got, code)
		}
		got, _, more := call(t, []string{"ACCESSION_DATA_DIR=" + dir}, "config", "check")
		if got != code {
			t.Errorf("exit code %d, want %d", got, code)
		}
		for _, s := range says {
			if !strings.Contains(errs+more, s) {
				t.Errorf("it does not say %q:\n%s%s", s, errs, more)
			}
		}
	}
	check(exit.Usage, "outbox_shards (flag)", profiles, "hint: make the directory, copy deploy/profiles/reference.yaml")
	if err := os.Mkdir(profiles, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a.yaml": "name: a\ncollection: a\nodd: 1\n", "b.yaml": "name: b\nidentifier: 7\n"} {
		if err := os.WriteFile(filepath.Join(profiles, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check(exit.Usage, "outbox_shards (flag)", "faults in the profiles:", filepath.Join(profiles, "a.yaml")+":3", filepath.Join(profiles, "b.yaml")+":2")
}
