package demo

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/servers"
	"github.com/accession-ingest/accession/cmd/internal/config"
)

// TestDemoSaysHowToCallItAgain: with the program as it was called, and the
// directory that was given.
func TestDemoSaysHowToCallItAgain(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	d := &demo{Options: Options{Out: &b, Called: "bin/accession"}, dirFlag: " --dir /tmp/mine"}
	d.next("/tmp/mine")
	for _, want := range []string{"\n  bin/accession stack --dir /tmp/mine\n", "\n  bin/accession demo --keep-running --dir /tmp/mine\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not said:\n%s", want, b.String())
		}
	}
}

// TestDemoServesInTurn: the demonstration fails when a depositor is served again while
// the other waits, and only then.
func TestDemoServesInTurn(t *testing.T) {
	t.Parallel()
	for order, good := range map[string]bool{"amamamaaaaaaaaa": true, "mamamaaaaaaaaaa": true, "aamamamaaaaaaaa": false, "ammamaaaaaaaaaa": false, "aaaaaaaaaaaammm": false} {
		var grabs []grab
		for i, c := range order {
			grabs = append(grabs, grab{turn: int64(i) + 1, user: map[rune]string{'a': "archive", 'm': "museum"}[c]})
		}
		if err := inTurn(grabs); (err == nil) != good {
			t.Errorf("%s: %v", order, err)
		}
	}
}

// TestSettingsOfTheDemo: the file that others look around with has what the demonstration
// was started with, and is only for its user.
func TestSettingsOfTheDemo(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "accession.yaml")
	want := map[string]string{"instance": "demo", "postgres": "postgres://u:p%22%27w@127.0.0.1:5432/d?sslmode=disable", "data_dir": "/var/tmp/a \"b\": #c", "retry_delay": "200ms"}
	if err := servers.WriteSettings(file, want); err != nil {
		t.Fatal(err)
	}
	got, err := config.Load(config.Sources{File: file})
	if err != nil {
		t.Fatal(err)
	}
	same, err := config.Load(config.Sources{Flags: want})
	if err != nil || !reflect.DeepEqual(got.Config, same.Config) {
		t.Errorf("%v: %+v, want %+v", err, got.Config, same.Config)
	}
	if is, err := os.Stat(file); err != nil || is.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", is, err)
	}
}
