package profiles

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

const text = "name: maps\ncollection: maps\nowner: us\nidentifier: {naan: 99999, shoulder: fk4}\n"

// TestCheck: every fault of every file is named.
func TestCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml": "name: A\n", "b.yaml": "title: b\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Check(dir)
	if kindOf(err) != app.Invalid || !strings.Contains(err.Error(), "a.yaml:1: name") || !strings.Contains(err.Error(), "b.yaml:1: title") {
		t.Errorf("%v", err)
	}
	if _, err := Check(filepath.Join(dir, "none")); kindOf(err) != app.NotFound {
		t.Errorf("%v", err)
	}
}

// TestContentThatIsNoProfile: what a profile is set to is checked as files are, and is that of
// its name.
func TestContentThatIsNoProfile(t *testing.T) {
	t.Parallel()
	for content, says := range map[string]string{
		"":                                    "the file is empty",
		"name: [":                             "write valid YAML",
		text + "fetch: {attempts: 0}\n":       "fetch.attempts",
		text + "password: x\n":                "a profile holds no secrets",
		strings.Replace(text, "maps", "m", 1): "is that of the profile m, not maps",
		text + "description: " + strings.Repeat("x", maxContent): "more than 65536",
	} {
		if _, err := checked("maps", content); kindOf(err) != app.Invalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60q: %v, want %q", content, err, says)
		}
	}
	if p, err := checked("maps", text); err != nil || p.Fetch.Attempts != 16 {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestDifferences: a change is said field by field, as files write it.
func TestDifferences(t *testing.T) {
	t.Parallel()
	was, _ := checked("maps", text)
	to, err := checked("maps", text+"fetch: {attempts: 3, timeout: 90m, min_rate: 1 MiB}\nnotify: {from: a@example.org, to: [b@example.org], on: [report]}\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`fetch.attempts is 3, was 16`, `fetch.min_rate is "1 MiB", was "16 KiB"`, `fetch.timeout is "1h30m0s", was "1h0m0s"`,
		`notify.from is "a@example.org", was ""`, `notify.on is ["report"], was []`, `notify.to is ["b@example.org"], was []`}
	if diff := cmp.Diff(want, differences(was, to, false)); diff != "" {
		t.Error(diff)
	}
	if got := differences(was, was, false); len(got) > 0 {
		t.Error(got)
	}
}

func kindOf(err error) app.Kind {
	if e, ok := errors.AsType[*app.Error](err); ok {
		return e.Kind
	}
	return ""
}
