package repocheck

import (
	"bytes"
	"fmt"
	"go/ast"
	"io/fs"
	"path"
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
	known := interfacesOf(all)
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
				if m := known.methods(s, t, nil); len(m) > maxMethods {
					found = append(found, Finding{s.file, s.fset.Position(t.Pos()).Line, fmt.Sprintf(
						"an interface has %d methods, with those of embedded ones; %d are the limit: declare what each user needs beside it", len(m), maxMethods)})
				}
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

// interfaces are the declared interfaces of this repository, by package and name.
type interfaces map[string]declaredInterface

type declaredInterface struct {
	in  source
	typ *ast.InterfaceType
}

func interfacesOf(all []source) interfaces {
	known := interfaces{}
	for _, s := range all {
		for _, decl := range s.syntax.Decls {
			if d, ok := decl.(*ast.GenDecl); ok {
				for _, spec := range d.Specs {
					if t, ok := spec.(*ast.TypeSpec); ok {
						if i, ok := t.Type.(*ast.InterfaceType); ok {
							known[s.pkg+"."+t.Name.Name] = declaredInterface{s, i}
						}
					}
				}
			}
		}
	}
	return known
}

// methods returns the names of an interface's methods. An embedded interface of another
// module counts as one method.
func (known interfaces) methods(s source, t *ast.InterfaceType, names map[string]bool) map[string]bool {
	if names == nil {
		names = map[string]bool{}
	}
	for _, field := range t.Methods.List {
		for _, name := range field.Names {
			names[name.Name] = true
		}
		if len(field.Names) > 0 {
			continue
		}
		if embedded, ok := known[s.qualified(field.Type)]; ok {
			known.methods(embedded.in, embedded.typ, names)
		} else if _, union := field.Type.(*ast.BinaryExpr); !union {
			names[written(field.Type)] = true
		}
	}
	return names
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
