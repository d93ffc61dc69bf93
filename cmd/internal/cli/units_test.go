package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnitsRunCommandsThatThereAre parses what systemd is told to start.
func TestUnitsRunCommandsThatThereAre(t *testing.T) {
	t.Parallel()
	units, err := filepath.Glob("../../../deploy/systemd/*.service")
	if err != nil || len(units) != 2 {
		t.Fatalf("units: %v, %v", units, err)
	}
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		started := 0
		for line := range strings.Lines(string(text)) {
			line, ok := strings.CutPrefix(line, "ExecStart=/usr/local/bin/accession ")
			if !ok {
				continue
			}
			started++
			c, rest, err := (&program{}).root().Find(strings.Fields(line))
			if err == nil {
				err = c.ParseFlags(rest)
			}
			if err != nil || !c.HasParent() || len(c.Flags().Args()) > 0 {
				t.Errorf("%s starts %q, which is %s: %v", unit, line, c.CommandPath(), err)
			}
		}
		if started != 1 {
			t.Errorf("%s starts the program %d times", unit, started)
		}
	}
}
