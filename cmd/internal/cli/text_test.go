package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain/text"
)

// TestFlagsAreText: what is no text is refused before any server is asked, with the name
// of the flag.
// Shows: P15
func TestFlagsAreText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"batch", "ls", "--submitter", "a\xff"}, "--submitter is not UTF-8"},
		{[]string{"file", "ls", "--name", "\xc3\x28"}, "--name is not UTF-8"},
		{[]string{"job", "ls", "--batch", "bid\xff"}, "--batch"},
		{[]string{"collection", "hold", "maps", "--reason", "a\x1b[2J"}, "--reason holds a control character, U+001B"},
		{[]string{"collection", "hold", "maps", "--reason", "a\nb"}, "--reason holds a line break, U+000A"},
		{[]string{"collection", "hold", "maps", "--reason", "a\u202eb"}, "--reason holds a bidirectional control, U+202E"},
		{[]string{"collection", "hold", "maps", "--reason", strings.Repeat("a", 1025)}, "--reason has 1025 bytes"},
		{[]string{"--nats", "nats://\u200bh:1", "status"}, "--nats holds an invisible character, U+200B"},
	} {
		code, out, errs := call(t, nil, c.args...)
		if code != exit.Usage || !strings.Contains(errs, c.says) {
			t.Errorf("%q: exit code %d, %q%s, want %s", c.args, code, out, errs, c.says)
		}
		if text.Lines(errs) != errs {
			t.Errorf("%q: the message is not fit to show: %q", c.args, errs)
		}
	}
}

// TestOutputIsText: whatever a command writes, nothing gets through that a terminal obeys;
// images and bars go around that.
// Shows: P15
func TestOutputIsText(t *testing.T) {
	t.Parallel()
	const hostile = "é\x1b[2J\u009b2J\u202e\u200b\xff\U000e0041"
	var b bytes.Buffer
	w := export.NewPlain(&b)
	for i := range len(hostile) { // also when a character is divided
		if n, err := w.Write([]byte{hostile[i]}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	fmt.Fprint(w, "\tend\n")
	if got, want := b.String(), "é\ufffd[2J\ufffd2J\ufffd\ufffd\ufffd\ufffd\tend\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if export.Unwrapped(w) != io.Writer(&b) {
		t.Error("images cannot be written")
	}
	b.Reset()
	p := &program{output: "json"}
	p.Out = export.NewPlain(&b)
	if err := show(p, map[string]string{"a": hostile}, nil); err != nil {
		t.Fatal(err)
	}
	var back map[string]string
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back["a"] != strings.ToValidUTF8(hostile, "\ufffd") || text.Lines(b.String()) != b.String() {
		t.Errorf("JSON: %q, %q (%v)", b.String(), back["a"], err)
	}
}
