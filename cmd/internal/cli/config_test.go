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
	check(exit.Usage, "outbox_shards (flag)", profiles, "hint: make a first profile: mkdir -p "+profiles)
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

// TestConfigCheckTellsOfLinesWithoutUse: a line for a profile that there is not is no fault, for
// the profile may be set later; it is told.
func TestConfigCheckTellsOfLinesWithoutUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "profiles", "maps.yaml")
	if err := os.Mkdir(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	const profile = "name: maps\ncollection: maps\nowner: The tests\nidentifier: {naan: 99999, shoulder: fk4}\n"
	if err := os.WriteFile(name, []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"ACCESSION_DATA_DIR=" + dir, "ACCESSION_MINTER_CREDENTIALS=maps:u:s3cret\n# a comment\ns3cret:u:charts", "ACCESSION_SERVICE_CREDENTIALS=s3cret:u:charts", "ACCESSION_CALLBACK_SECRETS=tides: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
	for _, format := range []string{"table", "json"} {
		code, out, errs := call(t, env, "config", "check", "-o", format)
		for _, want := range []string{"minter_credentials has a line for a profile that there is not, line 3", "service_credentials has a line for a profile that there is not, line 1", "callback_secrets has a line for a profile that there is not, line 1"} {
			if code != 0 || !strings.Contains(out, want) || strings.Contains(out+errs, "s3cret") {
				t.Errorf("%s: exit code %d, no %q in\n%s%s", format, code, want, out, errs)
			}
		}
	}
}
