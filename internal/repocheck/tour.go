package repocheck

import (
	"errors"
	"fmt"
	"go/ast"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// Limits of the tour.
const (
	tourFiles = 10
	tourLines = 1500
)

const tourPage = "docs/tour.md"

// A step of docs/tour.md is an item of a list that begins with a file and a function of
// it, as godoc writes it:
//
//  3. `eventstore/handler.go` `(*Handler).Batch` loads the batch and decides.
//  4. ↳ `eventstore/relay/relay.go` `(*Relay).Run` reads the outbox.
//
// It is called by the step before it, or by an earlier one, under the same name (or that
// of the interface's method). With an arrow it begins anew, in another goroutine or
// process. Items without a file and a function are text.
var tourStep = regexp.MustCompile("^\\s*(?:\\d+\\.|[-*])\\s+(↳\\s*)?`([^`\\s]+\\.go)` `([^`]+)`")

type step struct {
	line       int
	anew       bool
	file, name string
}

// CheckTour follows docs/tour.md: each step exists, an earlier step since the last arrow
// calls it, and all of them together stay short.
func CheckTour(root fs.FS) ([]Finding, error) {
	text, err := fs.ReadFile(root, tourPage)
	if errors.Is(err, fs.ErrNotExist) {
		return []Finding{{"docs", 0, "has no tour.md: write down the functions that a deposit passes"}}, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	var found []Finding
	var callers []*ast.FuncDecl
	lines, files := map[step]int{}, map[string]bool{}
	for _, s := range tourSteps(string(text)) {
		refuse := func(format string, args ...any) {
			found = append(found, Finding{tourPage, s.line, fmt.Sprintf(format, args...)})
		}
		in, f := functionOf(all, s.file, s.name)
		if f == nil {
			refuse("there is no %s in %s", s.name, s.file)
			continue
		}
		called := slices.ContainsFunc(callers, func(c *ast.FuncDecl) bool { return refers(c.Body, f.Name.Name) })
		switch {
		case s.anew:
			callers = nil
		case len(callers) == 0 && len(files) == 0: // the first step
		case !called:
			refuse("no step before it calls %s: name the one that does, or mark the start of another goroutine with ↳", s.name)
		}
		callers = append(callers, f)
		files[s.file] = true
		lines[step{0, false, s.file, s.name}] = in.fset.Position(f.End()).Line - in.fset.Position(f.Pos()).Line + 1
	}
	total := 0
	for _, n := range lines {
		total += n
	}
	if len(lines) == 0 {
		found = append(found, Finding{tourPage, 0, "has no step: an item of a list that begins with `FILE.go` `FUNCTION`"})
	}
	if total > tourLines || len(files) > tourFiles {
		found = append(found, Finding{tourPage, 0, fmt.Sprintf("its functions have %d lines in %d files; %d lines in %d files are the limit", total, len(files), tourLines, tourFiles)})
	}
	return found, nil
}

func tourSteps(text string) (steps []step) {
	for i, line := range strings.Split(text, "\n") {
		if m := tourStep.FindStringSubmatch(line); m != nil {
			steps = append(steps, step{i + 1, m[1] != "", m[2], m[3]})
		}
	}
	return steps
}

func functionOf(all []source, file, name string) (source, *ast.FuncDecl) {
	for _, s := range all {
		for _, decl := range s.syntax.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && s.file == file && f.Body != nil && FuncName(f) == name {
				return s, f
			}
		}
	}
	return source{}, nil
}

// refers reports whether code calls a function or method of the name, or passes it on.
func refers(n ast.Node, name string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == name {
			found = true
		}
		return !found
	})
	return found
}
