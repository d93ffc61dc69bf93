package demo

import (
	"strings"
	"testing"
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
