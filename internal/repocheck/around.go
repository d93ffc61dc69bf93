package repocheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// wrapper is a function that runs an effect between two crash points: crash.Around
// itself, or one that passes a string parameter of its own on to a wrapper.
type wrapper struct {
	pkg    string // folder; empty for crash.Around
	name   string
	method bool
	params int // number of parameters
	name0  int // index of the parameter that names the operation
	before string
	after  string // what the wrapper adds around the parameter
}

// wrappers finds the wrappers of a tree and the calls of them.
type wrappers []wrapper

var around = wrapper{name: "Around", params: 2}

// findWrappers adds wrappers of wrappers until there are no more.
func findWrappers(all []source) wrappers {
	known := wrappers{around}
	for {
		n := len(known)
		for _, s := range all {
			if s.test {
				continue
			}
			for _, decl := range s.syntax.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if !ok || f.Body == nil {
					continue
				}
				params := parameters(f)
				ast.Inspect(f.Body, func(x ast.Node) bool {
					call, ok := x.(*ast.CallExpr)
					if !ok {
						return true
					}
					w, ok := known.called(s, call)
					if !ok {
						return true
					}
					before, param, after, ok := nameOf(call.Args[w.name0])
					index := slices.Index(params, param)
					if !ok || param == "" || index < 0 {
						return true
					}
					own := wrapper{s.pkg, f.Name.Name, f.Recv != nil, len(params), index, w.before + before, after + w.after}
					if !slices.Contains(known, own) {
						known = append(known, own)
					}
					return true
				})
			}
		}
		if len(known) == n {
			return known
		}
	}
}

// called returns the wrapper that a call runs. A method is recognised by its name and
// number of parameters, as only the syntax is read.
func (ws wrappers) called(s source, call *ast.CallExpr) (wrapper, bool) {
	fun := call.Fun
	switch f := fun.(type) {
	case *ast.IndexExpr:
		fun = f.X
	case *ast.IndexListExpr:
		fun = f.X
	}
	for _, w := range ws {
		if len(call.Args) != w.params {
			continue
		}
		switch f := fun.(type) {
		case *ast.Ident:
			if !w.method && f.Name == w.name && w.pkg == s.pkg {
				return w, true
			}
		case *ast.SelectorExpr:
			if f.Sel.Name != w.name {
				continue
			}
			of, _ := f.X.(*ast.Ident)
			switch {
			case w.pkg == "":
				if of != nil && of.Name == "crash" {
					return w, true
				}
			case w.method && (w.pkg == s.pkg || ast.IsExported(w.name) && s.importsAs(w.pkg) != ""):
				return w, true
			case !w.method && of != nil && of.Name == s.importsAs(w.pkg):
				return w, true
			}
		}
	}
	return wrapper{}, false
}

// importsAs returns the name under which a file imports a package of this repository.
func (s source) importsAs(pkg string) string {
	for _, spec := range s.syntax.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err == nil && path == Module+"/"+pkg {
			if spec.Name != nil {
				return spec.Name.Name
			}
			return pkg[strings.LastIndex(pkg, "/")+1:]
		}
	}
	return ""
}

// operation returns the constant name that a call gives to a wrapper; constant is
// false where the enclosing function passes its own parameter on.
func (w wrapper) operation(f *ast.FuncDecl, call *ast.CallExpr) (name string, constant bool, err error) {
	before, param, _, ok := nameOf(call.Args[w.name0])
	switch {
	case ok && param == "":
		return w.before + before + w.after, true, nil
	case ok && slices.Contains(parameters(f), param):
		return "", false, nil
	}
	return "", false, fmt.Errorf("%s: the name of a crash point is a constant, or the function's own parameter", f.Name.Name)
}

// nameOf splits a concatenation of string literals and at most one identifier.
func nameOf(e ast.Expr) (before, param, after string, ok bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return nameOf(e.X)
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, "", "", e.Kind == token.STRING && err == nil
	case *ast.Ident:
		return "", e.Name, "", true
	case *ast.BinaryExpr:
		b1, p1, a1, ok1 := nameOf(e.X)
		b2, p2, a2, ok2 := nameOf(e.Y)
		switch {
		case !ok1 || !ok2 || e.Op != token.ADD || p1 != "" && p2 != "":
			return "", "", "", false
		case p1 != "":
			return b1, p1, a1 + b2 + a2, true
		}
		return b1 + a1 + b2, p2, a2, true
	}
	return "", "", "", false
}

// parameters returns the names of a function's parameters, "_" for one without.
func parameters(f *ast.FuncDecl) (names []string) {
	for _, field := range f.Type.Params.List {
		if len(field.Names) == 0 {
			names = append(names, "_")
		}
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}
