package consistency

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of codes into the documentation")

const page = "../../../docs/operating.md"

// The documentation has every code, and what it says is what a finding says.
func TestEveryCodeIsDocumented(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("\n| code | in | repaired by `--repair` | meaning | what to do |\n|---|---|---|---|---|\n")
	for _, m := range FindingCodes {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.Code, m.In, repairable(m), m.Means, m.Remedy)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), "consistency -->\n")
	_, tail, ok2 := strings.Cut(rest, "<!-- end of codes -->")
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the codes", page)
	}
	want := head + "consistency -->\n" + b.String() + "\n<!-- end of codes -->" + tail
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(text) {
		t.Errorf("%s is not what the table says: make generate", page)
	}
}

// repairable returns what a repair can do about findings of a code: all, none, or those for which a
// replica has what is needed.
func repairable(c FindingCode) string {
	switch {
	case c.Severity == Repairable:
		return "yes"
	case c.Remedy == fromCopy:
		return "from a replica"
	default:
		return "no"
	}
}
