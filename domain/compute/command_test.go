package compute_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/text"
)

func TestLastLinesInMessages(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", compute.MaxLastLines)
	for lines, want := range map[string]string{
		"":                                 "it failed",
		" \n\r\n\t\n":                      "it failed",
		"no header\n":                      "it failed: no header",
		"begun\n\n\tno  header":            "it failed: begun / no header",
		"10 %\r20 %\rbroken pipe\r\n":      "it failed: 10 % / 20 % / broken pipe",
		"a\x00b\x1b[31mc\u202e\xff":        "it failed: a\ufffdb\ufffd[31mc\ufffd\ufffd",
		"first\n" + long[:1004] + "\nlast": "it failed: … / " + long[:1004] + " / last",
	} {
		if got := compute.WithLastLines("it failed", lines); got != want {
			t.Errorf("%q gives %q, want %q", lines, got, want)
		}
	}
	got := compute.WithLastLines("it failed", "first\n"+long+"\n")
	if !strings.HasPrefix(got, "it failed: ää") || !strings.HasSuffix(got, "ä…") || len(got) > len("it failed: ")+compute.MaxLastLines || !utf8.ValidString(got) {
		t.Errorf("a long line gives %d bytes: %q", len(got), got)
	}
}

// FuzzWithLastLines: whatever a command writes, its message is one bounded line of text.
func FuzzWithLastLines(f *testing.F) {
	f.Add("it failed", "begun\r\nno header\x00\xff\u2028")
	f.Add("", strings.Repeat("\xff\n", 2000))
	f.Add("\x1b", strings.Repeat("ä", 2000))
	f.Fuzz(func(t *testing.T, message, lines string) {
		got := compute.WithLastLines(message, lines)
		if text.Line(got) != got || len(got) > len(text.Line(message))+len(": ")+compute.MaxLastLines {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	})
}
