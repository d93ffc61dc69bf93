package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// chosenBy is the variable of the environment that says which mutant a program is that has all of
// them, by its number.
const chosenBy = "MUTANT"

// together is one program with all mutants of functions in it: each function that has some
// begins with a choice among its changed bodies. It is built once, for to build the program for
// each mutant takes longer than the tests do.
type together struct {
	files    map[string]string // the changed and added files by their path from the root
	has      []bool            // which mutants it has: not those of constants and variables
	overlaid string            // the name of the overlay, in a directory for all that is built
}

// joined puts mutants into one program.
func joined(root string, all []Mutant, changed []changedFile) (*together, error) {
	t := &together{files: map[string]string{}, has: make([]bool, len(all))}
	type choice struct {
		at    int // offset of the beginning of the function's body
		cases string
	}
	choices := map[string]map[string]*choice{} // by file and function
	for i, m := range all {
		c := changed[i]
		_, name, _ := strings.Cut(m.At, " ")
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(c.path)))
		if err != nil {
			return nil, err
		}
		was, before, err := body(string(src), name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		if was == nil {
			continue
		}
		_, after, err := body(c.text, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		if choices[c.path] == nil {
			choices[c.path] = map[string]*choice{}
		}
		if choices[c.path][name] == nil {
			choices[c.path][name] = &choice{at: before.from}
		}
		// A function of its own, so that it may have labels and deferred calls.
		call := "return func() " + before.results + " {" + after.text + "\n}()"
		if before.results == "" {
			call = "func() {" + after.text + "\n}(); return"
		}
		choices[c.path][name].cases += fmt.Sprintf("case \"%d\":\n%s\n", i, call)
		t.has[i] = true
	}
	for file, of := range choices {
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		text := string(src)
		for _, c := range slices.SortedFunc(maps.Values(of), func(a, b *choice) int { return cmp.Compare(b.at, a.at) }) {
			text = text[:c.at] + "\nswitch chosenMutant {\n" + c.cases + "}\n" + text[c.at:]
		}
		t.files[file] = text
		clause, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
		if err != nil {
			return nil, err
		}
		t.files[path.Dir(file)+"/zz_chosen_mutant.go"] = "package " + clause.Name.Name + "\n\nimport \"os\"\n\nvar chosenMutant = os.Getenv(\"" + chosenBy + "\")\n"
	}
	return t, nil
}

// bodyText is the text of a function's body without its braces, with the offset where it begins,
// and of its results.
type bodyText struct {
	text, results string
	from          int
}

// body returns a function of a file, nil if the name is that of a constant or variable, with its
// body.
func body(src, name string) (*ast.FuncDecl, bodyText, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil, bodyText{}, err
	}
	text := func(from, to token.Pos) string { return src[fset.Position(from).Offset:fset.Position(to).Offset] }
	for _, decl := range parsed.Decls {
		fn, ok := named(decl, name).(*ast.FuncDecl)
		if !ok {
			continue
		}
		b := bodyText{text: text(fn.Body.Lbrace+1, fn.Body.Rbrace), from: fset.Position(fn.Body.Lbrace + 1).Offset}
		if r := fn.Type.Results; r != nil {
			b.results = text(r.Pos(), r.End())
		}
		return fn, b, nil
	}
	return nil, bodyText{}, nil
}

// overlay writes the files to a directory, and returns the name of what `go test -overlay` takes.
func (t *together) overlay(root, dir string) (string, error) {
	replace := map[string]string{}
	for file, text := range t.files {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, filepath.FromSlash(file))] = to
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "together.json")
	return name, os.WriteFile(name, text, 0o600)
}

// binary is the program of a package's tests.
func (t *together) binary(pkg string) string {
	return filepath.Join(filepath.Dir(t.overlaid), strings.ReplaceAll(pkg, "/", "_")+".test")
}

// build builds the tests of a package with all mutants.
func (t *together) build(ctx context.Context, root, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-o", t.binary(pkg), "./"+pkg)
	cmd.Dir, cmd.Env = root, overlaid(t.overlaid)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the tests of %s with all mutants: %w\n%s", pkg, err, out)
	}
	return nil
}

// test runs tests of a package with the mutant of this number, "" = none, and returns what
// `go test -json` writes. Programs that they build are built once, with all mutants too.
func (t *together) test(ctx context.Context, root, pkg, mutant string, args ...string) []byte {
	cmd := exec.CommandContext(ctx, t.binary(pkg), slices.Concat([]string{"-test.v=test2json", "-test.paniconexit0"}, args)...)
	cmd.Dir = filepath.Join(root, filepath.FromSlash(pkg))
	cmd.Env = append(overlaid(t.overlaid), chosenBy+"="+mutant, "ACCESSION_TEST_BUILDS="+filepath.Dir(t.overlaid))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, _ := cmd.CombinedOutput()
	convert := exec.CommandContext(ctx, "go", "tool", "test2json")
	convert.Stdin = bytes.NewReader(out)
	stream, err := convert.Output()
	if err != nil {
		return out
	}
	return stream
}
