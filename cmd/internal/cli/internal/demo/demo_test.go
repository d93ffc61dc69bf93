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
