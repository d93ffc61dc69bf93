package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// Op changes one place in a function's syntax tree. It says what it is looking for by
// words: identifiers that the node must hold, constants as they are written, "<-" for
// a receive, or parts of its string literals. An operation that finds no place, or more
// than one, is an error of the table.
type Op struct {
	what  string
	edits func(f function) []edit
}

// edit replaces the bytes from..to of a file.
type edit struct {
	from, to token.Pos
	text     string
}

// Never lets a condition be false: the smallest one that holds the words, of an if, a
// for or a case without a tag, or an operand of && and ||. The words may also stand in
// the statement before the condition.
func Never(words ...string) Op {
	return Op{"Never" + list(words), func(f function) []edit { return f.force(words, " && false") }}
}

// Always lets a condition be true.
func Always(words ...string) Op {
	return Op{"Always" + list(words), func(f function) []edit { return f.force(words, " || true") }}
}

// Skip lets the condition of an if be false whose body holds the words.
func Skip(words ...string) Op {
	return Op{"Skip" + list(words), func(f function) []edit {
		ifs := find(f, func(n *ast.IfStmt) bool { return mentions(words, n.Body) })
		return each(ifs, func(n *ast.IfStmt) edit { return f.forced(n.Cond, " && false") })
	}}
}

// Compare replaces the operator of a comparison.
func Compare(operator string, words ...string) Op {
	return Op{"Compare(" + operator + ")" + list(words), func(f function) []edit {
		found := find(f, func(n *ast.BinaryExpr) bool {
			return slices.Contains(comparisons, n.Op) && mentions(words, n)
		})
		return each(found, func(n *ast.BinaryExpr) edit {
			return edit{n.OpPos, n.OpPos + token.Pos(len(n.Op.String())), operator}
		})
	}}
}

var comparisons = []token.Token{token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ}

// Drop removes a call, an assignment or a receive that stands as a statement of its own.
func Drop(words ...string) Op {
	return Op{"Drop" + list(words), func(f function) []edit {
		found := smallest(f.statements(func(s ast.Stmt) bool {
			assign, ok := s.(*ast.AssignStmt)
			_, call := s.(*ast.ExprStmt)
			return (call || ok && assign.Tok != token.DEFINE) && mentions(words, s)
		}))
		return each(found, func(s ast.Stmt) edit { return edit{s.Pos(), s.End(), f.uses(s)} })
	}}
}

// DropCase removes a case whose head holds the words.
func DropCase(words ...string) Op {
	return Op{"DropCase" + list(words), func(f function) []edit {
		var found []edit
		ast.Inspect(f.decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CommClause:
				if n.Comm != nil && mentions(words, n.Comm) {
					found = append(found, edit{n.Pos(), n.End(), ""})
				}
			case *ast.CaseClause:
				if len(n.List) > 0 && mentionsAny(words, n.List) {
					found = append(found, edit{n.Pos(), n.End(), ""})
				}
			}
			return true
		})
		return found
	}}
}

// Call replaces a call of a function or method by a text, in which $0 is the call, $1
// its first argument and so on, and $recv what the method is called on.
func Call(name, text string, words ...string) Op {
	return Op{"Call(" + name + ")" + list(words), func(f function) []edit {
		return each(f.calls(name, words), func(c *ast.CallExpr) edit {
			pairs := []string{"$0", f.text(c)}
			for i, arg := range c.Args {
				pairs = append(pairs, "$"+strconv.Itoa(i+1), f.text(arg))
			}
			if s, ok := c.Fun.(*ast.SelectorExpr); ok {
				pairs = append(pairs, "$recv", f.text(s.X))
			}
			return edit{c.Pos(), c.End(), strings.NewReplacer(pairs...).Replace(text)}
		})
	}}
}

// Arg replaces the n-th argument of a call, from 0; $0 in the text is what it was.
func Arg(name string, n int, text string, words ...string) Op {
	return Op{fmt.Sprintf("Arg(%s, %d)%s", name, n, list(words)), func(f function) []edit {
		found := slices.DeleteFunc(f.calls(name, words), func(c *ast.CallExpr) bool { return n >= len(c.Args) })
		return each(found, func(c *ast.CallExpr) edit { return f.replaced(c.Args[n], text) })
	}}
}

// DropArg removes the n-th argument of a call, which is not the first.
func DropArg(name string, n int, words ...string) Op {
	return Op{fmt.Sprintf("DropArg(%s, %d)%s", name, n, list(words)), func(f function) []edit {
		found := slices.DeleteFunc(f.calls(name, words), func(c *ast.CallExpr) bool { return n < 1 || n >= len(c.Args) })
		return each(found, func(c *ast.CallExpr) edit { return edit{c.Args[n-1].End(), c.Args[n].End(), ""} })
	}}
}

// Field replaces the value of a field in a composite literal of the type.
func Field(typ, field, text string, words ...string) Op {
	return Op{"Field(" + typ + ", " + field + ")" + list(words), func(f function) []edit {
		var found []edit
		for _, lit := range find(f, func(n *ast.CompositeLit) bool { return lastName(n.Type) == typ && mentions(words, n) }) {
			for _, elt := range lit.Elts {
				if kv, ok := elt.(*ast.KeyValueExpr); ok && lastName(kv.Key) == field {
					found = append(found, f.replaced(kv.Value, text))
				}
			}
		}
		return found
	}}
}

// Value replaces the value that a constant, a variable or a field gets in a declaration or an
// assignment; $0 in the text is what it was.
func Value(name, text string, words ...string) Op {
	return Op{"Value(" + name + ")" + list(words), func(f function) []edit {
		var found []edit
		look := func(n ast.Node, names, values []ast.Expr) {
			for i, e := range names {
				if len(names) == len(values) && lastName(e) == name && mentions(words, n) {
					found = append(found, f.replaced(values[i], text))
				}
			}
		}
		ast.Inspect(f.decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				look(n, n.Lhs, n.Rhs)
			case *ast.ValueSpec:
				names := make([]ast.Expr, len(n.Names))
				for i, id := range n.Names {
					names[i] = id
				}
				look(n, names, n.Values)
			}
			return true
		})
		return found
	}}
}

// Element replaces the n-th element, from 0, of the smallest composite literal without keys
// that holds the words; $0 in the text is what it was.
func Element(n int, text string, words ...string) Op {
	return Op{fmt.Sprintf("Element(%d)%s", n, list(words)), func(f function) []edit {
		found := find(f, func(lit *ast.CompositeLit) bool { return n < len(lit.Elts) && mentions(words, lit) })
		found = slices.DeleteFunc(found, func(lit *ast.CompositeLit) bool { _, keyed := lit.Elts[n].(*ast.KeyValueExpr); return keyed })
		return each(found, func(lit *ast.CompositeLit) edit { return f.replaced(lit.Elts[n], text) })
	}}
}

// Return replaces what a return statement returns; $0 in the text is what it was.
func Return(text string, words ...string) Op {
	return Op{"Return" + list(words), func(f function) []edit {
		found := find(f, func(n *ast.ReturnStmt) bool { return len(n.Results) == 1 && mentions(words, n) })
		return each(found, func(n *ast.ReturnStmt) edit { return f.replaced(n.Results[0], text) })
	}}
}

// Text replaces a part of a string literal.
func Text(was, text string) Op {
	return Op{"Text(" + was + ")", func(f function) []edit {
		found := find(f, func(n *ast.BasicLit) bool { return n.Kind == token.STRING && strings.Contains(n.Value, was) })
		return each(found, func(n *ast.BasicLit) edit {
			return edit{n.Pos(), n.End(), strings.Replace(n.Value, was, text, 1)}
		})
	}}
}

// Before puts code before the smallest statement that holds the words.
func Before(code string, words ...string) Op {
	return Op{"Before" + list(words), func(f function) []edit {
		found := smallest(f.statements(func(s ast.Stmt) bool { return mentions(words, s) }))
		return each(found, func(s ast.Stmt) edit { return edit{s.Pos(), s.Pos(), code + "\n"} })
	}}
}

// First puts code at the beginning of the function.
func First(code string) Op {
	return Op{"First", func(f function) []edit {
		fn, ok := f.decl.(*ast.FuncDecl)
		if !ok {
			return nil
		}
		return []edit{{fn.Body.Lbrace + 1, fn.Body.Lbrace + 1, "\n" + code}}
	}}
}

func list(words []string) string { return "(" + strings.Join(words, ", ") + ")" }

// function is a declaration of a file: a function, or a constant or variable.
type function struct {
	fset *token.FileSet
	src  []byte
	decl ast.Node
}

func (f function) text(n ast.Node) string {
	return string(f.src[f.fset.Position(n.Pos()).Offset:f.fset.Position(n.End()).Offset])
}

func (f function) replaced(e ast.Expr, text string) edit {
	return edit{e.Pos(), e.End(), strings.ReplaceAll(text, "$0", f.text(e))}
}

func (f function) forced(cond ast.Expr, by string) edit {
	return edit{cond.Pos(), cond.End(), "((" + f.text(cond) + ")" + by + ")"}
}

// force changes the smallest condition that holds the words.
func (f function) force(words []string, by string) []edit {
	var found []ast.Node
	look := func(cond ast.Expr, init ast.Stmt) {
		if cond != nil && (mentions(words, cond) || init != nil && mentions(words, cond, init)) {
			found = append(found, cond)
		}
	}
	ast.Inspect(f.decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			look(n.Cond, n.Init)
		case *ast.ForStmt:
			look(n.Cond, nil)
		case *ast.SwitchStmt:
			for _, clause := range n.Body.List {
				for _, e := range clause.(*ast.CaseClause).List {
					if n.Tag == nil {
						look(e, nil)
					}
				}
			}
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				look(n, nil)
				look(n.X, nil)
				look(n.Y, nil)
			}
		}
		return true
	})
	return each(smallest(found), func(n ast.Node) edit { return f.forced(n.(ast.Expr), by) })
}

// calls finds the calls of a function or method by its last name.
func (f function) calls(name string, words []string) []*ast.CallExpr {
	return find(f, func(n *ast.CallExpr) bool { return lastName(n.Fun) == name && mentions(words, n) })
}

// statements finds statements in blocks and cases.
func (f function) statements(is func(ast.Stmt) bool) (found []ast.Stmt) {
	ast.Inspect(f.decl, func(n ast.Node) bool {
		var in []ast.Stmt
		switch n := n.(type) {
		case *ast.BlockStmt:
			in = n.List
		case *ast.CaseClause:
			in = n.Body
		case *ast.CommClause:
			in = n.Body
		}
		for _, s := range in {
			if is(s) {
				found = append(found, s)
			}
		}
		return true
	})
	return found
}

// uses returns assignments to _ of the local variables that a statement uses, so that
// the function still compiles without it.
func (f function) uses(s ast.Stmt) string {
	locals := map[string]bool{}
	ast.Inspect(f.decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					locals[id.Name] = true
				}
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					locals[id.Name] = true
				}
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				locals[id.Name] = true
			}
		}
		return true
	})
	var used []string
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && locals[id.Name] {
				used = append(used, id.Name)
			}
			_, plain := n.X.(*ast.Ident)
			return !plain
		case *ast.FuncLit:
			return false
		case *ast.KeyValueExpr:
			if id, ok := n.Value.(*ast.Ident); ok && locals[id.Name] {
				used = append(used, id.Name)
			}
			return false
		case *ast.Ident:
			if locals[n.Name] {
				used = append(used, n.Name)
			}
		}
		return true
	})
	slices.Sort(used)
	var b strings.Builder
	for _, name := range slices.Compact(used) {
		if name != "_" {
			b.WriteString("_ = " + name + "; ")
		}
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// find returns the smallest nodes of a kind.
func find[N ast.Node](f function, is func(N) bool) []N {
	var found []N
	ast.Inspect(f.decl, func(n ast.Node) bool {
		if n, ok := n.(N); ok && is(n) {
			found = append(found, n)
		}
		return true
	})
	return smallest(found)
}

// smallest leaves out nodes that hold another one of the list.
func smallest[N ast.Node](nodes []N) []N {
	slices.SortFunc(nodes, func(a, b N) int { return cmp.Or(cmp.Compare(a.Pos(), b.Pos()), cmp.Compare(a.End(), b.End())) })
	nodes = slices.CompactFunc(nodes, func(a, b N) bool { return a.Pos() == b.Pos() && a.End() == b.End() })
	return slices.DeleteFunc(slices.Clone(nodes), func(n N) bool {
		return slices.ContainsFunc(nodes, func(m N) bool {
			return n.Pos() <= m.Pos() && m.End() <= n.End() && (n.Pos() != m.Pos() || n.End() != m.End())
		})
	})
}

func each[N ast.Node](nodes []N, do func(N) edit) []edit {
	var edits []edit
	for _, n := range nodes {
		edits = append(edits, do(n))
	}
	return edits
}

// mentions reports whether the nodes together hold all words.
func mentions(words []string, nodes ...ast.Node) bool {
	return !slices.ContainsFunc(words, func(word string) bool {
		return !slices.ContainsFunc(nodes, func(n ast.Node) bool { return holds(n, word) })
	})
}

func mentionsAny(words []string, nodes []ast.Expr) bool {
	return slices.ContainsFunc(nodes, func(e ast.Expr) bool { return mentions(words, e) })
}

func holds(n ast.Node, word string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			found = found || n.Name == word
		case *ast.BasicLit:
			found = found || n.Value == word || n.Kind == token.STRING && strings.Contains(n.Value, word)
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW && word == "<-"
		}
		return !found
	})
	return found
}

// lastName returns the name of what is called or of a type, without its package,
// receiver or type arguments.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return lastName(e.X)
	case *ast.IndexListExpr:
		return lastName(e.X)
	case *ast.StarExpr:
		return lastName(e.X)
	}
	return ""
}
