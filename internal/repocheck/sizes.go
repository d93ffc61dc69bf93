package repocheck

import (
	"bytes"
	"fmt"
	"go/ast"
	"io"
	"io/fs"
	"path"
	"reflect"
	"strings"
)

// Limits of a production package.
const (
	maxMethods = 8    // of an interface, those of embedded ones counted
	maxParams  = 7    // of a function
	maxLines   = 4000 // of a package, without tests and generated code
)

// forTests are the packages that only tests use.
var forTests = []string{"eventstore/storetest/...", "projections/projtest/...", "cmd/accession/e2e/...", "internal/testkit/...", "internal/repocheck/..."}

// forTestsOnly are what imports show to be test machinery.
var forTestsOnly = []string{"testing", "testing/...", Module + "/internal/testkit/...", Module + "/internal/repocheck/...", "pgregory.net/rapid", "go.uber.org/goleak", "github.com/google/go-cmp/..."}

// production reports whether a file is part of the program.
func (s source) production() bool { return !s.test && !matchesAny(forTests, s.pkg) }

// CheckMachinery refuses what tests need in files of production packages.
func CheckMachinery(root fs.FS) ([]Finding, error) {
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, s := range all {
		for _, i := range s.imports {
			if s.production() && matchesAny(forTestsOnly, i.path) {
				found = append(found, Finding{s.file, i.line, "imports " + i.path + ": test machinery belongs to internal/testkit or to a test file"})
			}
		}
	}
	return found, nil
}

// CheckSizes refuses interfaces of more than 8 methods, functions of more than 7 parameters
// and packages of more than 4,000 lines.
func CheckSizes(root fs.FS) ([]Finding, error) {
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	var found []Finding
	lines := map[string]int{}
	known := declarationsOf(all)
	for _, s := range all {
		if !s.production() || ast.IsGenerated(s.syntax) {
			continue
		}
		text, err := fs.ReadFile(root, s.file)
		if err != nil {
			return nil, err
		}
		before := lines[s.pkg]
		lines[s.pkg] += bytes.Count(text, []byte("\n"))
		if before <= maxLines && lines[s.pkg] > maxLines {
			found = append(found, Finding{s.pkg, 0, fmt.Sprintf("has more than %d lines: split it where its halves do not need each other's internals", maxLines)})
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if t, ok := n.(*ast.InterfaceType); ok {
				found = append(found, known.tooLarge(s, t)...)
			}
			if t, ok := n.(*ast.FuncType); ok && t.Params.NumFields() > maxParams {
				found = append(found, Finding{s.file, s.fset.Position(t.Pos()).Line, fmt.Sprintf(
					"a function has %d parameters; %d are the limit: pass what belongs together as one value", t.Params.NumFields(), maxParams)})
			}
			return true
		})
	}
	return found, nil
}

// declarations are the types of this repository, by package and name.
type declarations map[string]declaredType

type declaredType struct {
	in  source
	typ ast.Expr
}

func declarationsOf(all []source) declarations {
	known := declarations{}
	for _, s := range all {
		for _, decl := range s.syntax.Decls {
			if d, ok := decl.(*ast.GenDecl); ok {
				for _, spec := range d.Specs {
					if t, ok := spec.(*ast.TypeSpec); ok {
						known[s.pkg+"."+t.Name.Name] = declaredType{s, t.Type}
					}
				}
			}
		}
	}
	return known
}

// foreign are the interfaces that are declared elsewhere and that interfaces here embed.
var foreign = map[string]reflect.Type{
	"error":         reflect.TypeFor[error](),
	"io.ReadSeeker": reflect.TypeFor[io.ReadSeeker](),
	"io.Reader":     reflect.TypeFor[io.Reader](),
	"io.ReaderAt":   reflect.TypeFor[io.ReaderAt](),
	"io.Writer":     reflect.TypeFor[io.Writer](),
}

// tooLarge refuses an interface with too many methods, and one that embeds an interface whose
// methods are not known.
func (known declarations) tooLarge(s source, t *ast.InterfaceType) (found []Finding) {
	names, line := map[string]bool{}, s.fset.Position(t.Pos()).Line
	for _, name := range known.methods(s, t, names) {
		found = append(found, Finding{s.file, line, fmt.Sprintf("an interface embeds %s: add it to the variable foreign in internal/repocheck/sizes.go, so that its methods are counted", name)})
	}
	if len(names) > maxMethods {
		found = append(found, Finding{s.file, line, fmt.Sprintf(
			"an interface has %d methods, with those of embedded ones; %d are the limit: declare what each user needs beside it", len(names), maxMethods)})
	}
	return found
}

// methods adds the names of an interface's methods to names, and returns which embedded
// interfaces are not known.
func (known declarations) methods(s source, t ast.Expr, names map[string]bool) (unknown []string) {
	switch t := t.(type) {
	case *ast.InterfaceType:
		for _, field := range t.Methods.List {
			for _, name := range field.Names {
				names[name.Name] = true
			}
			if len(field.Names) == 0 {
				unknown = append(unknown, known.methods(s, field.Type, names)...)
			}
		}
	case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr:
		name := written(t)
		if own, ok := known[s.qualified(t)]; ok {
			return known.methods(own.in, own.typ, names)
		}
		elsewhere, ok := foreign[name]
		if !ok && name != "any" && name != "comparable" {
			return []string{name}
		}
		if ok {
			for m := range elsewhere.Methods() {
				names[m.Name] = true
			}
		}
	}
	return unknown
}

// qualified returns the package and the name of a type of this repository.
func (s source) qualified(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return s.pkg + "." + e.Name
	case *ast.IndexExpr:
		return s.qualified(e.X)
	case *ast.SelectorExpr:
		of, _ := e.X.(*ast.Ident)
		for _, i := range s.imports {
			if own, ok := strings.CutPrefix(i.path, Module+"/"); ok && of != nil && (path.Base(own) == of.Name || s.importsAs(own) == of.Name) {
				return own + "." + e.Sel.Name
			}
		}
	}
	return ""
}
