package repocheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"strings"
)

// CheckCodes refuses codes of refusals and reasons that production code writes as texts: a
// code is a constant, so that one declaration says what it means and where it is used.
func CheckCodes(root fs.FS) ([]Finding, error) {
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, s := range all {
		if !s.production() || strings.HasPrefix(s.pkg, "eventstore/storetest") {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			list, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			for _, e := range list.Elts {
				field, keyed := e.(*ast.KeyValueExpr)
				if keyed && namesCode(field.Key) {
					e = field.Value
				} else if keyed || !isCodes(list.Type) {
					continue
				}
				if text, ok := e.(*ast.BasicLit); ok && text.Kind == token.STRING {
					found = append(found, Finding{s.file, s.fset.Position(text.Pos()).Line, fmt.Sprintf("the code %s is a text: use its constant, or declare one", text.Value)})
				}
			}
			return true
		})
	}
	return found, nil
}

// isCodes reports whether a type is a list of codes.
func isCodes(t ast.Expr) bool {
	list, ok := t.(*ast.ArrayType)
	if !ok {
		return false
	}
	if from, ok := list.Elt.(*ast.SelectorExpr); ok {
		return namesCode(from.Sel)
	}
	return namesCode(list.Elt)
}

// namesCode reports whether an expression is the name Code.
func namesCode(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "Code"
}
