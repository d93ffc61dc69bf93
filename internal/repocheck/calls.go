package repocheck

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// calls is a static call graph: the module's packages, type-checked from their sources.
type calls struct {
	fset    *token.FileSet
	files   map[string][]*ast.File // of a plain build, by package path below Module
	bodies  map[string]bool        // packages whose functions are looked into
	foreign types.Importer         // of all packages outside of the module
	loaded  map[string]*types.Package
	info    types.Info
}

// newCalls type-checks the packages in bodies and what they import.
func newCalls(root fs.FS, all []source, bodies map[string]bool) (*calls, error) {
	plain := build.Default
	plain.JoinPath = path.Join
	plain.OpenFile = func(name string) (io.ReadCloser, error) { return root.Open(name) }
	c := &calls{fset: all[0].fset, files: map[string][]*ast.File{}, bodies: bodies, loaded: map[string]*types.Package{},
		info: types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}}
	list := exec.Command("go", "list", "-export", "-deps", "-f={{.ImportPath}} {{.Export}}", "--")
	list.Stderr = os.Stderr
	for _, s := range all {
		built, err := plain.MatchFile(s.pkg, path.Base(s.file))
		if err != nil {
			return nil, err
		}
		if s.test || !built {
			continue
		}
		c.files[s.pkg] = append(c.files[s.pkg], s.syntax)
		for _, i := range s.imports {
			if !strings.HasPrefix(i.path, Module+"/") {
				list.Args = append(list.Args, i.path)
			}
		}
	}
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -export: %w", err)
	}
	exported := map[string]string{} // the files with the types of foreign packages
	for line := range strings.Lines(string(out)) {
		pkg, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exported[pkg] = file
	}
	c.foreign = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exported[path]) })
	for pkg := range bodies {
		if _, err := c.Import(Module + "/" + pkg); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Import implements types.Importer. All packages of the module are checked from source,
// so that each of its types exists once.
func (c *calls) Import(path string) (*types.Package, error) {
	name, ours := strings.CutPrefix(path, Module+"/")
	if !ours {
		return c.foreign.Import(path)
	}
	if pkg := c.loaded[path]; pkg != nil {
		return pkg, nil
	}
	config := types.Config{Importer: c, IgnoreFuncBodies: !c.bodies[name]}
	pkg, err := config.Check(path, c.fset, c.files[name], &c.info)
	c.loaded[path] = pkg
	return pkg, err
}

// has reports whether a function calls another: in its body or in a function literal
// there, by its name or as the method of an interface. Passing it on is no call.
func (c *calls) has(from, to *ast.FuncDecl) (found bool) {
	callee := c.info.Defs[to.Name].(*types.Func)
	ast.Inspect(from.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return !found
		}
		name, _ := call.Fun.(*ast.Ident)
		if s, ok := call.Fun.(*ast.SelectorExpr); ok {
			name = s.Sel
		}
		f, ok := c.info.Uses[name].(*types.Func)
		found = found || ok && (f.Origin() == callee || implements(callee, f))
		return !found
	})
	return found
}

// implements reports whether a type beside the method implements the interface that
// wanted belongs to, and its implementation of wanted is this method, its own or
// embedded.
func implements(method, wanted *types.Func) bool {
	recv := wanted.Signature().Recv()
	if recv == nil || !types.IsInterface(recv.Type()) {
		return false
	}
	port := recv.Type().Underlying().(*types.Interface)
	scope := method.Pkg().Scope()
	return slices.ContainsFunc(scope.Names(), func(name string) bool {
		named, ok := scope.Lookup(name).Type().(*types.Named)
		if !ok || named.TypeParams() != nil || types.IsInterface(named) {
			return false
		}
		pointer := types.NewPointer(named)
		f, _, _ := types.LookupFieldOrMethod(pointer, true, wanted.Pkg(), wanted.Name())
		return f == method && types.Implements(pointer, port)
	})
}
