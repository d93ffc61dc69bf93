package operation

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// The reasons why a use case has no row.
const (
	isPart    = "operations are made of it"
	isMachine = "it runs, restores, rebuilds or compares servers, or needs files of the machine: it is for the machine's own command line"
	isStream  = "a client follows the stream of events in its place"
)

// noRows are the use cases that are no row of the table, with the reason.
var noRows = map[string]string{
	"app.App.ReadProfiles": isPart, "app.App.Meta": isPart, "app.App.CommandID": isPart, "app.App.WaitProjected": isPart, "queues.Resume": isPart, "profiles.LastChange": isPart,
	"objects.Here": isPart, "drops.Given": isPart, "people.People.Caller": isPart, "app.App.ResumeQueue": isPart, "showing.Latest": isPart,

	"app.App.Repair": isMachine, "app.App.Republish": isMachine, "app.App.RestoreLog": isMachine, "app.App.RestoreZooKeeper": isMachine,
	"app.App.Verify": isMachine, "tables.Compare": isMachine, "tables.DropRebuild": isMachine, "tables.Migrate": isMachine, "tables.Rebuild": isMachine,
	"drops.Accept": isMachine,

	"leases.Signed": "it takes no caller: who has the address of an input gets it",

	"app.App.Watch": isStream, "app.App.Select": isStream,
}

// useCases returns the exported functions of package app, and of those below it, that carry
// something out for an actor.
func useCases(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, file := range sources(t, "../app") {
		pkg := file.Name.Name
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() {
				continue
			}
			if f.Recv == nil {
				if takesApp(f.Type.Params) {
					all[pkg+"."+f.Name.Name] = true
				}
				continue
			}
			switch of := typeName(f.Recv.List[0].Type); of {
			case "App", "People", "Receiver":
				all[pkg+"."+of+"."+f.Name.Name] = true
			}
		}
	}
	return all
}

// takesApp reports whether a function is given the use cases.
func takesApp(params *ast.FieldList) bool {
	return slices.ContainsFunc(params.List, func(f *ast.Field) bool {
		p, ok := f.Type.(*ast.StarExpr)
		return ok && typeName(p) == "App"
	})
}

// typeName returns the last word of a type's name.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// sources returns the syntax of the production files of a directory and those below it.
func sources(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	all := map[string]*ast.File{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		all[name], err = parser.ParseFile(token.NewFileSet(), path.Join(dir, name), nil, parser.SkipObjectResolution)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// requested returns what the files of a directory call: functions of packages by the names of
// both, methods by their names.
func requested(t *testing.T, dir string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, file := range sources(t, dir) {
		packages := map[string]bool{}
		for _, i := range file.Imports {
			packages[path.Base(strings.Trim(i.Path.Value, `"`))] = true
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok {
					all["."+s.Sel.Name] = true
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && packages[x.Name] {
					all[x.Name+"."+n.Sel.Name] = true
				}
				if _, ok := n.X.(*ast.ParenExpr); ok { // (*app.App).HoldJob
					all["."+n.Sel.Name] = true
				}
			}
			return true
		})
	}
	return all
}

// TestEveryUseCaseHasARow: a new use case is a row of the table, or is listed with the reason
// why it is not.
func TestEveryUseCaseHasARow(t *testing.T) {
	t.Parallel()
	calls := requested(t, ".")
	maps.Copy(calls, requested(t, "../forms"))
	maps.Copy(calls, requested(t, "../httpapi/internal/tus"))
	all := useCases(t)
	if len(all) < 80 {
		t.Fatalf("only %d use cases are found", len(all))
	}
	for name := range all {
		has := calls[name]
		if words := strings.Split(name, "."); len(words) == 3 {
			has = calls["."+words[2]]
		}
		switch why := noRows[name]; {
		case has && why != "":
			t.Errorf("%s has a row now: take it out of the list of those that have none", name)
		case !has && why == "":
			t.Errorf("%s is no row of the table of operations: add one, or the reason why it has none", name)
		}
	}
	for name := range noRows {
		if !all[name] {
			t.Errorf("%s is no use case", name)
		}
	}
}
