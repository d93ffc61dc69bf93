package repocheck

import (
	"fmt"
	"go/ast"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// pure are packages that only decide: the domain, and the layout of the live state's
// nodes. They may use these packages of the standard library besides pureStandard.
var pure = map[string][]string{
	"domain/...":                        nil,
	"eventstore/zklive/internal/layout": {"encoding/json", "hash/fnv"},
}

// pureStandard is what pure packages may use of the standard library: packages of
// values, without I/O, clock, goroutine or chance.
var pureStandard = []string{
	"bufio", "bytes", "cmp", "container/heap", "crypto/hmac", "crypto/sha256", "embed", "encoding/base64", "encoding/binary", "encoding/hex", "encoding/xml",
	"errors", "fmt", "hash", "io", "iter", "maps", "math", "math/big", "math/bits", "net/url",
	"path", "reflect", "regexp", "slices", "sort", "strconv", "strings", "time", "unicode", "unicode/utf16", "unicode/utf8",
}

// pureTests is what their tests may use besides: scenarios and drawings
// are files.
var pureTests = []string{"encoding/json", "flag", "os", "path/filepath", "runtime", "testing", "testing/fstest"}

// impure are functions of allowed packages that read the clock, wait or print; an
// example may print.
var impure = map[string][]string{
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}

// CheckPurity holds pure packages against the tables above, and refuses goroutines,
// channels and the libraries of servers there.
func CheckPurity(root fs.FS) ([]Finding, error) {
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, s := range all {
		besides, ok := s.pure()
		if !ok {
			continue
		}
		for _, i := range s.imports {
			allowed := slices.Contains(pureStandard, i.path) || slices.Contains(besides, i.path) || s.test && slices.Contains(pureTests, i.path)
			if first, _, _ := strings.Cut(i.path, "/"); strings.Contains(first, ".") { // imports.go
				allowed = s.test || strings.HasPrefix(i.path, Module+"/") || strings.HasPrefix(i.path, "golang.org/x/text/")
			}
			if !allowed {
				found = append(found, Finding{s.file, i.line, fmt.Sprintf("%s is pure and imports %s: let the caller bring its result", s.pkg, i.path)})
			}
		}
		found = append(found, impurities(s)...)
	}
	return found, nil
}

// pure returns what a pure package may import besides.
func (s source) pure() (besides []string, ok bool) {
	for pattern, besides := range pure {
		if matches(pattern, s.pkg) {
			return besides, true
		}
	}
	return nil, false
}

// impurities walks one file of a pure package.
func impurities(s source) []Finding {
	var found []Finding
	add := func(n ast.Node, what string) {
		found = append(found, Finding{s.file, s.fset.Position(n.Pos()).Line, what})
	}
	names := localNames(s.syntax)
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			add(n, s.pkg+" is pure and starts no goroutine: it only decides")
		case *ast.ChanType:
			add(n, s.pkg+" is pure and has no channel: it only decides")
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if example := s.test && ok && names[x.Name] == "fmt"; ok && !example && slices.Contains(impure[names[x.Name]], n.Sel.Name) {
				add(n, fmt.Sprintf("%s is pure and calls %s.%s: time and output belong to the caller, pass them in", s.pkg, names[x.Name], n.Sel.Name))
			}
		}
		return true
	})
	return found
}

// localNames maps the name that a file knows a package by to the package's path.
func localNames(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // sources has refused such a file already
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = path
	}
	return names
}
