package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/internal/repocheck"
)

// Mutant is one protection that is taken away, and the test that must notice.
type Mutant struct {
	Name string // the protection
	Why  string // what happens without it
	Was  bool   // the program once was like this

	At string // package and function: "eventstore/zklive (*Store).lock"; or a constant or variable of the package
	Do []Op   // what is changed in it

	Package string // path from the repository's root
	Test    string // a test, or one of its subtests
	// Hangs: without the protection the test waits for what never comes.
	Hangs bool
}

// Mutants returns all rows of the table.
func Mutants() []Mutant {
	return slices.Concat(claims, commits, outbox, events, tables, content, world, frontDoor, overHTTP, pages, openID, withdrawn, services, directories, truth, queues, seen, bugs)
}

// changedFile is a file with a mutant's text in it.
type changedFile struct {
	path string // from the repository's root
	text string
}

// mutate changes the file that holds the mutant's function.
func (m Mutant) mutate(root string) (changedFile, error) {
	pkg, name, _ := strings.Cut(m.At, " ")
	file, f, syntax, err := declaration(root, pkg, name)
	if err != nil {
		return changedFile{}, fmt.Errorf("%s: %w", m.Name, err)
	}
	var edits []edit
	for _, op := range m.Do {
		found := op.edits(f)
		if len(found) != 1 {
			return changedFile{}, fmt.Errorf("%s: %s fits %d places in %s of %s, and must fit one%s", m.Name, op.what, len(found), name, file, f.lines(found))
		}
		edits = append(edits, found[0])
	}
	slices.SortFunc(edits, func(a, b edit) int { return int(b.from - a.from) })
	out := string(f.src)
	for i, e := range edits {
		if i > 0 && e.to > edits[i-1].from {
			return changedFile{}, fmt.Errorf("%s: two changes of one place", m.Name)
		}
		out = out[:f.offset(e.from)] + e.text + out[f.offset(e.to):]
	}
	if len(edits) == 0 || out == string(f.src) {
		return changedFile{}, fmt.Errorf("%s: changes nothing", m.Name)
	}
	out, err = keepImports(syntax, out)
	if err != nil {
		return changedFile{}, fmt.Errorf("%s: %w", m.Name, err)
	}
	return changedFile{file, out}, nil
}

func (f function) offset(p token.Pos) int { return f.fset.Position(p).Offset }

func (f function) lines(found []edit) string {
	var b strings.Builder
	for _, e := range found {
		fmt.Fprintf(&b, "\n\tline %d: %s", f.fset.Position(e.from).Line, f.src[f.offset(e.from):f.offset(e.to)])
	}
	return b.String()
}

// declaration finds a function, constant or variable in the files of a package. It must
// stand in one of them alone.
func declaration(root, pkg, name string) (file string, f function, syntax *ast.File, err error) {
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*.go"))
	if err != nil {
		return "", f, nil, err
	}
	for _, path := range names {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return "", f, nil, err
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
		if err != nil {
			return "", f, nil, err
		}
		for _, decl := range parsed.Decls {
			if n := named(decl, name); n != nil {
				if file != "" {
					return "", f, nil, fmt.Errorf("%s stands in more than one file of %s", name, pkg)
				}
				file, f, syntax = pkg+"/"+filepath.Base(path), function{fset, src, n}, parsed
			}
		}
	}
	if file == "" {
		return "", f, nil, fmt.Errorf("there is no %s in %s", name, pkg)
	}
	return file, f, syntax, nil
}

// named returns the part of a declaration that has the name.
func named(decl ast.Decl, name string) ast.Node {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Body != nil && repocheck.FuncName(d) == name {
			return d
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && slices.ContainsFunc(v.Names, func(id *ast.Ident) bool { return id.Name == name }) {
				return v
			}
		}
	}
	return nil
}

// keepImports lets a changed file still compile when it has lost the only use of an
// import: that one is imported as _ then.
func keepImports(was *ast.File, text string) (string, error) {
	fset := token.NewFileSet()
	now, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	before, after := qualifiers(was), qualifiers(now)
	for _, spec := range slices.Backward(now.Imports) {
		name := importName(spec)
		if before[name] && !after[name] {
			from := fset.Position(spec.Pos()).Offset
			text = text[:from] + "_ " + text[fset.Position(spec.Path.Pos()).Offset:]
		}
	}
	return text, nil
}

// qualifiers returns the identifiers that stand before a dot.
func qualifiers(f *ast.File) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok {
				names[id.Name] = true
			}
		}
		return true
	})
	return names
}

var versionElement = regexp.MustCompile(`^v\d+$`)

func importName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	p, _ := strconv.Unquote(spec.Path.Value)
	if versionElement.MatchString(path.Base(p)) {
		p = path.Dir(p)
	}
	return strings.TrimSuffix(strings.TrimPrefix(path.Base(p), "go-"), ".go")
}

// pattern selects the row's test alone.
func (m Mutant) pattern() string {
	parts := strings.Split(m.Test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// hasTest looks for the test in the package's files; a subtest is found only by
// running it.
func (m Mutant) hasTest(root string) (bool, error) {
	name, _, _ := strings.Cut(m.Test, "/")
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(m.Package), "*_test.go"))
	if err != nil {
		return false, err
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return false, err
		}
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)") {
			return true, nil
		}
	}
	return false, nil
}

// findRoot finds the repository's root by its go.mod.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod here or above: run it in the repository")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}
