package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/mutants.md anew")

// TestTable: each text stands in its file once, each test is there, and no two rows
// are the same.
func TestTable(t *testing.T) {
	t.Parallel()
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range Mutants() {
		text, err := m.mutate(root)
		if err != nil {
			t.Error(err)
			continue
		}
		if there, err := m.hasTest(root); err != nil || !there {
			t.Errorf("%s: there is no %s in %s (%v)", m.Name, m.Test, m.Package, err)
		}
		if names[m.Name] || m.Name == "" || m.Why == "" || m.Old == m.New || text == "" {
			t.Errorf("%q: a row has a name of its own, a reason and a change", m.Name)
		}
		names[m.Name] = true
	}
	if len(names) < 25 {
		t.Errorf("%d mutants, want 25", len(names))
	}
}

// TestPage compares docs/mutants.md with the table.
func TestPage(t *testing.T) {
	t.Parallel()
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(root, "docs", "mutants.md")
	if *update {
		if err := os.WriteFile(name, []byte(page()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != page() {
		t.Errorf("%s is not what the table has (%v): run `make generate`", name, err)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const ran = `{"Action":"run","Test":"TestA/b"}`
	for want, lines := range map[verdict][]string{
		found:    {ran, `{"Action":"fail","Test":"TestA/b"}`},
		survived: {ran, `{"Action":"pass","Test":"TestA/b"}`, `{"Action":"fail"}`},
		absent:   {`{"Action":"run","Test":"TestA"}`, `{"Action":"fail","Test":"TestA"}`},
		unbuilt:  {`{"Action":"build-fail"}`, `{"Action":"fail","FailedBuild":"p"}`},
		panicked: {ran, `{"Action":"output","Test":"TestA/b","Output":"panic: nil"}`, `{"Action":"fail","Test":"TestA/b"}`},
		hung:     {ran, `{"Action":"output","Output":"panic: test timed out after 20s"}`, `{"Action":"fail","Test":"TestA/b"}`},
		unclear:  {ran, `not an event`, `{"Action":"fail"}`},
	} {
		if got := judge([]byte(strings.Join(lines, "\n")), "TestA/b"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	hangs := Mutant{Hangs: true}
	if hangs.weigh(hung) != found || (Mutant{}).weigh(hung) != hung || hangs.weigh(panicked) != panicked || hangs.weigh(survived) != survived {
		t.Error("a test that hangs counts where the row says so")
	}
}
