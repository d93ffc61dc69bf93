package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/internal/repocheck"
)

var update = flag.Bool("update", false, "write docs/checks.md anew")

// TestTable: each row changes one place, its test is there, and no two rows are the
// same.
func TestTable(t *testing.T) {
	t.Parallel()
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	changed := map[string]changedFile{}
	for _, m := range Mutants() {
		file, err := m.mutate(root)
		if err != nil {
			t.Error(err)
			continue
		}
		if there, err := m.hasTest(root); err != nil || !there {
			t.Errorf("%s: there is no %s in %s (%v)", m.Name, m.Test, m.Package, err)
		}
		if _, twice := changed[m.Name]; twice || m.Name == "" || m.Why == "" {
			t.Errorf("%q: a row has a name of its own and a reason", m.Name)
		}
		changed[m.Name] = file
	}
	if len(Mutants()) < 100 {
		t.Errorf("%d mutants, want 100", len(Mutants()))
	}
	if t.Failed() {
		return
	}
	programs := map[string]map[string]string{}
	rows, files := Mutants(), make([]changedFile, len(Mutants()))
	for i, m := range rows {
		files[i] = changed[m.Name]
		programs[m.Name] = map[string]string{files[i].path: files[i].text}
	}
	all, err := joined(root, rows, files)
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range all.files {
		name := "all of " + path.Dir(file)
		if programs[name] == nil {
			programs[name] = map[string]string{}
		}
		programs[name][file] = text
	}
	compile(t, root, programs)
}

// compile type-checks programs: each is the changed and added files of one package, which are
// checked with the rest of it.
func compile(t *testing.T, root string, programs map[string]map[string]string) {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles"}
	dirs := map[string]string{}
	for name, files := range programs {
		for file := range files {
			dirs[name] = path.Dir(file)
		}
		args = append(args, "./"+dirs[name])
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	type listed struct {
		ImportPath, Export, Dir string
		GoFiles                 []string
	}
	byPath, byDir := map[string]listed{}, map[string]listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		byPath[p.ImportPath], byDir[p.Dir] = p, p
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(byPath[path].Export) })
	for name, changed := range programs {
		pkg := byDir[filepath.Join(root, filepath.FromSlash(dirs[name]))]
		texts := map[string]any{} // nil = as it is on disk
		for _, base := range pkg.GoFiles {
			texts[base] = nil
		}
		for file, text := range changed {
			texts[path.Base(file)] = text
		}
		var files []*ast.File
		for base, text := range texts {
			f, err := parser.ParseFile(fset, filepath.Join(pkg.Dir, base), text, parser.SkipObjectResolution)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			files = append(files, f)
		}
		if _, err := (&types.Config{Importer: imports}).Check(pkg.ImportPath, fset, files, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPage compares docs/checks.md with the tables and the tests.
func TestPage(t *testing.T) {
	t.Parallel()
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	want, err := repocheck.ChecksPage(os.DirFS(root), section())
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(root, "docs", "checks.md")
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != want {
		t.Errorf("%s is not what the tables and the tests have (%v): run `make generate`", name, err)
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
