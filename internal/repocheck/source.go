package repocheck

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// unseen are names that are not part of the repository's content: git's own, and
// what .gitignore lists.
var unseen = []string{".git", "bin", ".accession", "*.test", "*.out", "*.prof", "coverage.*"}

func isUnseen(name string) bool {
	return slices.ContainsFunc(unseen, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// source is one parsed Go file.
type source struct {
	file    string // path from the root
	pkg     string // folder, which is the package path below Module
	test    bool
	imports []imported
	syntax  *ast.File
	fset    *token.FileSet // of all files of the tree
}

type imported struct {
	path string
	line int
}

// sources parses every Go file of the tree, whatever its build tags. Folders
// named testdata hold no code of ours.
func sources(root fs.FS) ([]source, error) {
	var all []source
	fset := token.NewFileSet()
	err := files(root, func(name string, text []byte) error {
		if !strings.HasSuffix(name, ".go") || slices.Contains(strings.Split(name, "/"), "testdata") {
			return nil
		}
		syntax, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return fmt.Errorf("parse %s: %w", name, err)
		}
		s := source{file: name, pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), syntax: syntax, fset: fset}
		for _, spec := range syntax.Imports {
			unquoted, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return fmt.Errorf("parse %s: import %s: %w", name, spec.Path.Value, err)
			}
			s.imports = append(s.imports, imported{unquoted, fset.Position(spec.Pos()).Line})
		}
		all = append(all, s)
		return nil
	})
	return all, err
}

// files calls do with every file of the tree that belongs to the repository.
func files(root fs.FS, do func(name string, text []byte) error) error {
	return fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && isUnseen(entry.Name()):
			return fs.SkipDir
		case isUnseen(entry.Name()), !entry.Type().IsRegular():
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		return do(name, text)
	})
}

// whole reports whether a tree is the repository, or stands for all of it, so that rows
// without a use can be judged.
func whole(root fs.FS) bool {
	_, err := fs.Stat(root, "go.mod")
	return err == nil
}
