package render

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestTablesFitTheScreen: no line is wider than the terminal, and no word of a
// reason is lost.
func TestTablesFitTheScreen(t *testing.T) {
	t.Parallel()
	why := "digest_mismatch: the file tide-1998-01.csv has the digest sha256:9f86d081 and not sha256:60303ae2, which its manifest names; ask the depositor"
	header := Row{"job", "status", "identifier", "files", "bytes", "retries", "what", "why"}
	lines := []Row{
		{"jid0000000001", "completed", "ark:/99999/fk4xw2b1", 3, 48233, 0, "Tide tables of the harbour, 1998 to 2004", ""},
		{"jid0000000002", "failed", "", 3, 48233, 1, "Tide tables of the outer harbour, 1998 to 2004", why},
	}
	for _, width := range []int{70, 80, 100, 120, 200} {
		var b bytes.Buffer
		Rows(Screen{&b, width}, "none", header, lines, func(r Row) Row { return r })
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("a line of %d columns on %d:\n%s", n, width, b.String())
			}
		}
		for _, word := range append(strings.Fields(why), "jid0000000001", "Tide") {
			if !strings.Contains(b.String(), word) {
				t.Errorf("%q is missing on %d columns:\n%s", word, width, b.String())
			}
		}
		second := strings.Index(b.String(), "jid0000000002")
		if at := strings.Index(b.String(), "digest_mismatch"); at < second {
			t.Errorf("the reason stands before its row on %d columns:\n%s", width, b.String())
		}
	}
	var b bytes.Buffer
	Rows(Screen{&b, 80}, "none", Row{"setting", "value"}, []string{"b"}, func(s string) Row { return Row{"a", s} })
	if b.String() != "setting  value\na        b\n" {
		t.Errorf("%q", b.String())
	}
}
