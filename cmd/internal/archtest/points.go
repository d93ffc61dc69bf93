package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Point is a place where a process may be told to die.
type Point struct {
	Name     string
	File     string // path from the repository's root
	Function string
}

// Points gives all crash points of the repository, by name, and refuses a name that
// is not a constant or is used twice.
func Points(root fs.FS) ([]Point, error) {
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
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
				if !ok || written(call.Fun) != "crash.Point" {
					return true
				}
				lit, ok := call.Args[0].(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					bad = fmt.Errorf("%s: %s: the name of a crash point is a constant", s.file, f.Name.Name)
					return false
				}
				name, err := strconv.Unquote(lit.Value)
				if err != nil {
					bad = err
				}
				points = append(points, Point{name, s.file, f.Name.Name})
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
