package repocheck

import (
	"fmt"
	"go/ast"
	"io/fs"
	"slices"
	"strings"
)

// Point is a place where a process may be told to die.
type Point struct {
	Name     string
	File     string // path from the repository's root
	Function string
}

// Points returns all crash points of the repository, by name, and refuses a name that
// is not a constant or is used twice.
func Points(root fs.FS) ([]Point, error) {
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	known := findWrappers(all)
	var points []Point
	for _, s := range all {
		if s.test {
			continue
		}
		for _, decl := range s.syntax.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			var bad error
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				names, err := pointsOf(known, s, f, call)
				if err != nil {
					bad = fmt.Errorf("%s: %w", s.file, err)
				}
				for _, name := range names {
					points = append(points, Point{name, s.file, f.Name.Name})
				}
				return true
			})
			if bad != nil {
				return nil, bad
			}
		}
	}
	slices.SortFunc(points, func(a, b Point) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(points); i++ {
		if points[i].Name == points[i-1].Name {
			return nil, fmt.Errorf("crash point %s stands in %s and in %s: give each a name of its own", points[i].Name, points[i-1].File, points[i].File)
		}
	}
	return points, nil
}

// pointsOf returns the points that one call adds.
func pointsOf(known wrappers, s source, f *ast.FuncDecl, call *ast.CallExpr) ([]string, error) {
	if written(call.Fun) == "crash.Point" {
		name, param, _, ok := nameOf(call.Args[0])
		if !ok || param != "" {
			return nil, fmt.Errorf("%s: the name of a crash point is a constant", f.Name.Name)
		}
		return []string{name}, nil
	}
	w, ok := known.called(s, call)
	if !ok {
		return nil, nil
	}
	name, constant, err := w.operation(f, call)
	if err != nil || !constant {
		return nil, err
	}
	return []string{name + "/before", name + "/after"}, nil
}
