package repocheck

import (
	"errors"
	"fmt"
	"go/ast"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

// Limits of the tour.
const (
	tourFiles = 10
	tourLines = 1500
)

// The pages that are followed. Only the first one must be there.
const (
	tourPage  = "docs/tour.md"
	filesPage = "docs/files.md"
)

// A step of a page is an item of a list that begins with a file and a function of
// it, as godoc writes it:
//
//  3. `eventstore/handler.go` `(*Handler).Batch` loads, decides and commits.
//     - `domain/decide_batch.go` `DecideBatch` decides.
//  4. `eventstore/handler.go` `(kind).commit` writes the decision.
//  5. ↳ From the outbox: `eventstore/relay/shard.go` `(*shard).run` reads it.
//
// A numbered step is called by the one before it, and an indented step by the one that
// it stands below. An arrow begins anew, in another goroutine or process, and says how
// the work gets there. Items without a file and a function are text.
var tourStep = regexp.MustCompile("^( *)(?:(\\d+)\\.|-) +(?:(↳)([^`]*))?`([^`\\s]+\\.go)` `([^`]+)`")

type step struct {
	line, indent, number int // number 0: it has none
	anew                 bool
	way                  string // after the arrow
	file, name           string
	f                    *ast.FuncDecl // nil: it does not exist
}

// CheckTour follows docs/tour.md and docs/files.md: each step exists and is called by the
// one that its page says, and all of a page together stay short. Files, folders and methods that its text
// names exist too.
func CheckTour(root fs.FS) (found []Finding, err error) {
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	for _, page := range []string{tourPage, filesPage} {
		text, err := fs.ReadFile(root, page)
		if errors.Is(err, fs.ErrNotExist) && page != tourPage {
			continue
		}
		if err != nil {
			return nil, err
		}
		more, err := checkSteps(root, all, page, tourSteps(string(text)))
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
		if page == tourPage {
			found = append(found, lostNames(root, all, string(text))...)
		}
	}
	return found, nil
}

// checkSteps follows the steps of one page.
func checkSteps(root fs.FS, all []source, page string, steps []step) (found []Finding, err error) {
	if len(steps) == 0 {
		return []Finding{{page, 0, "has no step: an item of a list that begins with `FILE.go` `FUNCTION`"}}, nil
	}
	bodies, files, lines := map[string]bool{}, map[string]bool{}, map[*ast.FuncDecl]int{}
	for i, s := range steps {
		in, f := functionOf(all, s.file, s.name)
		if f == nil {
			found = append(found, Finding{page, s.line, fmt.Sprintf("there is no %s in %s", s.name, s.file)})
			continue
		}
		steps[i].f, bodies[in.pkg], files[s.file] = f, true, true
		lines[f] = in.fset.Position(f.End()).Line - in.fset.Position(f.Pos()).Line + 1
	}
	total := 0
	for _, n := range lines {
		total += n
	}
	if total > tourLines || len(files) > tourFiles {
		found = append(found, Finding{page, 0, fmt.Sprintf("its functions have %d lines in %d files; %d lines in %d files are the limit", total, len(files), tourLines, tourFiles)})
	}
	graph, err := newCalls(root, all, bodies)
	if err != nil {
		return nil, err
	}
	return append(found, brokenSteps(page, steps, graph)...), nil
}

// methodName is a method as godoc writes it.
var methodName = regexp.MustCompile(`^\(\*?\w+\)\.\w+$`)

// lostNames finds files, folders and methods that the text beside the steps names and that do
// not exist. A file may be named by the end of its path.
func lostNames(root fs.FS, all []source, text string) (found []Finding) {
	files, methods := map[string]bool{}, map[string]bool{}
	for _, s := range all {
		for name := s.file; name != ""; {
			files[name] = true
			_, name, _ = strings.Cut(name, "/")
		}
		for _, decl := range s.syntax.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				methods[FuncName(f)] = true
			}
		}
	}
	for i, line := range strings.Split(text, "\n") {
		for _, m := range ticked.FindAllStringSubmatch(tourStep.ReplaceAllString(line, ""), -1) {
			name, exists := m[1], true
			switch {
			case strings.HasSuffix(name, ".go"):
				exists = files[name]
			case methodName.MatchString(name):
				exists = methods[name]
			case strings.Contains(name, "/") && !strings.ContainsAny(name, " :"):
				_, err := fs.Stat(root, name)
				exists = err == nil
			}
			if !exists {
				found = append(found, Finding{tourPage, i + 1, "its text names " + name + ", which does not exist"})
			}
		}
	}
	return found
}

// brokenSteps finds the steps that nothing calls where the page says it.
func brokenSteps(page string, steps []step, graph *calls) (found []Finding) {
	number := 0
	for i, s := range steps {
		refuse := func(format string, args ...any) {
			found = append(found, Finding{page, s.line, fmt.Sprintf(format, args...)})
		}
		if s.indent == 0 {
			if number++; s.number != number {
				refuse("%s is step %d, not %d", s.name, number, s.number)
			}
		}
		caller, ok := callerOf(steps[:i], s)
		switch {
		case s.anew && strings.Trim(s.way, " :") == "":
			refuse("say between ↳ and %s how the work gets there", s.name)
		case s.anew, !ok && i == 0:
		case !ok:
			refuse("%s stands below no step", s.name)
		case s.f != nil && caller.f != nil && !graph.has(caller.f, s.f):
			refuse("%s does not call %s: put it below the step that calls it, or mark with ↳ that another goroutine or process takes over", caller.name, s.name)
		}
	}
	return found
}

// callerOf returns the step that calls s: the last one that is indented less, or, if s
// is not indented, the last one that is not either.
func callerOf(before []step, s step) (step, bool) {
	for i := len(before) - 1; i >= 0; i-- {
		if before[i].indent < max(s.indent, 1) {
			return before[i], true
		}
	}
	return step{}, false
}

func tourSteps(text string) (steps []step) {
	for i, line := range strings.Split(text, "\n") {
		if m := tourStep.FindStringSubmatch(line); m != nil {
			number, _ := strconv.Atoi(m[2])
			steps = append(steps, step{line: i + 1, indent: len(m[1]), number: number, anew: m[3] != "", way: m[4], file: m[5], name: m[6]})
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
