package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTogether builds one program with all mutants of a small one, and runs it as each: what a
// function returns, defers, leaves by a label and does to its named results is the same as in a
// program of its own. Mutants of constants are left out.
func TestTogether(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module x\n\ngo 1.26\n",
		"main.go": `package main

import "fmt"

type list[T any] struct{ all []T }

const hello = "hello"

func (l *list[T]) add(v T) { l.all = append(l.all, v) }

func half(n int) (h int, err error) {
	defer func() {
		if n%2 == 1 {
			err = fmt.Errorf("%d is odd", n)
		}
	}()
outer:
	for {
		for h = range n {
			if 2*h >= n {
				break outer
			}
		}
		return h, nil
	}
	return h, nil
}

func main() {
	l := &list[int]{}
	l.add(7)
	h, err := half(6)
	fmt.Print(hello, len(l.all), h, err)
}
`} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := []Mutant{
		{Name: "a", At: ". (*list).add", Do: []Op{Drop("append")}},
		{Name: "b", At: ". half", Do: []Op{Compare(">", "h")}},
		{Name: "c", At: ". half", Do: []Op{Always("n", "2", "1")}},
		{Name: "d", At: ". hello", Do: []Op{Text("hello", "bye")}},
	}
	changed := make([]changedFile, len(all))
	for i, m := range all {
		var err error
		if changed[i], err = m.mutate(root); err != nil {
			t.Fatal(err)
		}
	}
	j, err := joined(root, all, changed)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := j.overlay(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "x")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	build.Dir, build.Env = root, overlaid(overlay)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for mutant, want := range map[string]string{"": "hello1 3 <nil>", "0": "hello0 3 <nil>", "1": "hello1 4 <nil>", "2": "hello1 3 6 is odd"} {
		cmd := exec.CommandContext(t.Context(), binary)
		cmd.Env = append(os.Environ(), chosenBy+"="+mutant)
		if out, err := cmd.Output(); err != nil || string(out) != want {
			t.Errorf("mutant %q prints %q, want %q; %v", mutant, out, want, err)
		}
	}
	if j.has[3] || strings.Contains(j.files["./main.go"], "bye") {
		t.Error("a constant has two values")
	}
}
