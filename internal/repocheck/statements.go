package repocheck

import (
	"bytes"
	"go/ast"
	"io/fs"
	"maps"
	"slices"
)

// Size is how much hand-written code a package has, without its tests.
type Size struct {
	Package    string
	Production bool // not only for tests
	Statements int
	Lines      int
}

// machineryOnce is where the test machinery stood once, so that trees of before and
// after can be compared.
var machineryOnce = []string{"cmd/internal/archtest", "cmd/internal/history", "cmd/internal/model", "cmd/internal/powercut", "internal/crash/synced", "deploy/ci/..."}

// Sizes counts the statements of each package of a tree. Blocks, empty statements and
// labels count nothing.
func Sizes(root fs.FS) ([]Size, error) {
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	sizes := map[string]Size{}
	for _, s := range all {
		if s.test || ast.IsGenerated(s.syntax) {
			continue
		}
		text, err := fs.ReadFile(root, s.file)
		if err != nil {
			return nil, err
		}
		size := sizes[s.pkg]
		size.Package, size.Production = s.pkg, s.production() && !matchesAny(machineryOnce, s.pkg)
		size.Lines += bytes.Count(text, []byte("\n"))
		size.Statements += statements(s.syntax)
		sizes[s.pkg] = size
	}
	var sorted []Size
	for _, pkg := range slices.Sorted(maps.Keys(sizes)) {
		sorted = append(sorted, sizes[pkg])
	}
	return sorted, nil
}

func statements(n ast.Node) (count int) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.BlockStmt, *ast.EmptyStmt, *ast.LabeledStmt:
		case ast.Stmt:
			count++
		}
		return true
	})
	return count
}
