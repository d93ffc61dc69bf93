package repocheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// unreached are the codes that no test names, by the reason why none does.
var unreached = map[string]string{
	"domain.CodeUnknownCommand":              "no command is without a decision: the compiler and TestRegistry see to it",
	"cmd/internal/consistency.HistoryBroken": "the write path refuses such an event: it would have to be put into the log by hand",
	"cmd/internal/record.CodeURLTaken":       "two URLs would need one SHA-256",
}

// declaredCode is a constant that is the code of a reason, a refusal or a finding.
type declaredCode struct {
	Finding
	name, value string
}

// CheckReached refuses codes that no test reaches by name: a test names a code by its constant,
// or by its text. A code of one word is a text by itself; others may stand in a longer one.
func CheckReached(root fs.FS) ([]Finding, error) {
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	declared, named := map[string]declaredCode{}, map[string]bool{}
	var texts []string
	for _, s := range all {
		switch {
		case s.production():
			for _, c := range s.codes() {
				declared[c.name] = c
			}
		case s.test || matchesAny(forTests, s.pkg):
			texts = append(texts, s.names(named)...)
		}
	}
	words := map[string]bool{}
	for _, t := range texts {
		words[t] = true
		for _, w := range codeWord.FindAllString(t, -1) {
			words[w] = true
		}
	}
	var found []Finding
	for name, c := range declared {
		reached := named[name] || words[c.value]
		_, known := unreached[name]
		switch {
		case !reached && !known:
			found = append(found, c.Finding)
		case reached && known:
			found = append(found, Finding{c.File, c.Line, name + " is reached by a test: take it out of the table of codes that none reaches"})
		}
	}
	for name, why := range unreached {
		if _, is := declared[name]; !is && whole(root) || why == "" {
			found = append(found, Finding{"internal/repocheck/reached.go", 0, "there is no code " + name + ", or nothing says why no test reaches it"})
		}
	}
	slices.SortFunc(found, func(a, b Finding) int { return strings.Compare(a.String(), b.String()) })
	return found, nil
}

// codeWord is a code of several words.
var codeWord = regexp.MustCompile(`[a-z0-9]+(_[a-z0-9]+)+`)

// codes returns the codes that a file declares: constants of type Code, and those of a list that
// says in its comment that it has codes.
func (s source) codes() (all []declaredCode) {
	for _, decl := range s.syntax.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		listed := strings.HasPrefix(g.Doc.Text(), "Codes ")
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			if !listed && !isCode(v.Type) || len(v.Values) != len(v.Names) {
				continue
			}
			for i, n := range v.Names {
				text, ok := v.Values[i].(*ast.BasicLit)
				if !ok || text.Kind != token.STRING {
					continue
				}
				value, err := strconv.Unquote(text.Value)
				if err != nil {
					continue
				}
				name := s.pkg + "." + n.Name
				all = append(all, declaredCode{Finding{s.file, s.fset.Position(n.Pos()).Line,
					fmt.Sprintf("no test reaches the code %s (%s): write one, or say why there is none", name, value)}, name, value})
			}
		}
	}
	return all
}

// isCode reports whether a type is that of codes.
func isCode(t ast.Expr) bool {
	if from, ok := t.(*ast.SelectorExpr); ok {
		return namesCode(from.Sel)
	}
	return t != nil && namesCode(t)
}

// names adds what a file names of its own package and of those that it imports, and returns its
// texts.
func (s source) names(named map[string]bool) (texts []string) {
	from := map[string]string{}
	for i, spec := range s.syntax.Imports {
		p, ours := strings.CutPrefix(s.imports[i].path, Module+"/")
		if !ours {
			continue
		}
		as := p[strings.LastIndexByte(p, '/')+1:]
		if spec.Name != nil {
			as = spec.Name.Name
		}
		from[as] = p
	}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && from[of.Name] != "" {
				named[from[of.Name]+"."+n.Sel.Name] = true
				return false
			}
		case *ast.Ident:
			named[s.pkg+"."+n.Name] = true
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts
}
