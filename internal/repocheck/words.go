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
	"unicode"
)

// phrase is what comments and messages do not say: of production code, and all that stands
// in the files of texts.
type phrase struct {
	pattern *regexp.Regexp
	instead string
}

func said(pattern, instead string) phrase {
	return phrase{regexp.MustCompile(`(?i)\b(` + pattern + `)\b`), instead}
}

var phrases = []phrase{
	said(`nobody|somebody|anybody|whoever|whomever`, "no process, another worker, the caller"),
	said(`verdicts?`, "outcome, result"),
	said(`at most so many`, "at most N, how many at most"),
	said(`abreast`, "parallel, concurrent"),
	said(`errands?`, "request"),
	said(`fancy`, "needs escaping"),
	said(`steers?|steering`, "planner settings"),
	said(`redraws?|redrawn|drawn anew`, "make, from the expected nodes"),
	said(`hand(s|ed|ing)?( \w+){0,3} back`, "release"),
	said(`belongs? into`, "put ... in"),
	said(`at it in this moment`, "locked by a worker"),
	said(`a picture is nothing`, "refusing to write an image"),
	said(`for the \d+\. time`, "requeue 2"),
	said(`let nothing more begin|let held jobs go on|park pending jobs`, "pause a queue, release held jobs, hold pending jobs"),
	said(`knows no command|(settings|profiles) are sound|cannot clean the outbox`, "unknown command, are valid, cannot purge the outbox"),
	said(`(made by|the) rules of version`, "projection version"),
	said(`places? (in|of) the log|place of (the|its) (event|discovery)`, "sequence"),
}

// opening is how a doc comment does not begin.
var opening = regexp.MustCompile(`^(\S+) (gives|tells)\b`)

// badName is a name that a declaration does not have.
type badName struct {
	packages []string
	word     string // one of the words that the name is made of, in lower case; "=Name" for the whole name
	instead  string
}

// noSweep are packages that end no overdue attempts.
var noSweep = []string{"eventstore/...", "cmd/internal/app/drops", "cmd/internal/daemon/...", "cmd/internal/drop", "cmd/internal/forms", "cmd/internal/record", "cmd/internal/store"}

// notPlans are packages that know nothing of the plans of PostgreSQL.
var notPlans = []string{"domain/...", "eventstore/...", "cmd/..."}

var badNames = []badName{
	{everything, "picture", "expected nodes, observed nodes"},
	{everything, "redraw", "expected nodes"},
	{everything, "errand", "request"},
	{everything, "abreast", "parallel, concurrent"},
	{everything, "steer", "planner settings"},
	{everything, "fancy", "needsEscape"},
	{everything, "whoever", "the caller"},
	{everything, "nobody", "none"},
	{everything, "somebody", "other"},
	{everything, "meaning", "refusal, projection version, finding code"},
	{everything, "=World", "what it holds: installation, adapters, ..."},
	{[]string{"eventstore"}, "=At", "Loaded"},
	{[]string{"eventstore/..."}, "=Pair", "Transition"},
	{[]string{"eventstore/..."}, "=Order", "Meta"},
	{[]string{"eventstore/..."}, "look", "observed nodes"},
	{noSweep, "sweep", "purge, clean-up; a sweep ends overdue attempts"},
	{[]string{"domain/fair", "domain/setting", "eventstore/codec"}, "clean", "normalise, sanitise; a clean-up removes what has ended"},
	{noSweep, "swept", "purged, cleaned up; a sweep ends overdue attempts"},
	{notPlans, "plan", "request, expected nodes, steps; a plan is PostgreSQL's"},
	{everything, "place", "sequence, offset, index, directory, admission; a place in a deposit queue is free, pooled, runs"},
	{[]string{"domain", "projections/...", "cmd/internal/app/report", "cmd/internal/daemon/report"}, "=Records", "MetadataRecords, or what is meant; the records are SQL"},
	{[]string{"domain"}, "=record", "oneEvent, or what is meant; the records are SQL"},
	{[]string{"cmd/internal/daemon/...", "eventstore/zklive"}, "slot", "worker, mutex; a slot is a user's in a ring"},
	{[]string{"eventstore/zklive"}, "park", "block; what is parked is out of its deposit queue"},
	{[]string{"projections/...", "cmd/internal/app/..."}, "still", "snapshot"},
	{[]string{"cmd/internal/daemon/..."}, "lives", "file states"},
}

// worded are files beside Go whose lines are checked: SQL, what an operator installs and
// reads, and what a developer runs.
var worded = regexp.MustCompile(`^((migrations|queries)/.*\.sql|deploy/.*\.(yaml|json|sh|py|service|timer)|[^/]*\.yaml|Makefile|Dockerfile|\.ci/run|` +
	`(docs/|)[^/]*\.md|cmd/.*\.(html|tmpl))$`)

// quotesOldWords are pages that name the words which others do not use, and a migration,
// which stays as it was.
var quotesOldWords = []string{"CHANGELOG.md", "migrations/projection/20261123124500_deposits.sql"}

// checkTexts holds the lines of worded files against the phrases.
func checkTexts(root fs.FS) (found []Finding, err error) {
	err = files(root, func(name string, text []byte) error {
		if !worded.MatchString(name) || slices.Contains(quotesOldWords, name) {
			return nil
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, p := range phrases {
				if word := p.pattern.FindString(line); word != "" {
					found = append(found, Finding{name, i + 1, fmt.Sprintf("it says %q; say: %s", word, p.instead)})
				}
			}
		}
		return nil
	})
	return found, err
}

// CheckWords holds names, comments and messages of production code, and the texts beside
// it, against the words of docs/glossary.md.
func CheckWords(root fs.FS) ([]Finding, error) {
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	found, err := checkTexts(root)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if !s.production() || ast.IsGenerated(s.syntax) {
			continue
		}
		refuse := func(pos token.Pos, format string, args ...any) {
			found = append(found, Finding{s.file, s.fset.Position(pos).Line, fmt.Sprintf(format, args...)})
		}
		for _, group := range s.syntax.Comments {
			for _, c := range group.List {
				for _, p := range phrases {
					if word := p.pattern.FindString(c.Text); word != "" {
						refuse(c.Pos(), "a comment says %q; say: %s", word, p.instead)
					}
				}
			}
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, _ := strconv.Unquote(lit.Value)
			for _, p := range phrases {
				if word := p.pattern.FindString(text); word != "" {
					refuse(lit.Pos(), "a message says %q; say: %s", word, p.instead)
				}
			}
			return true
		})
		names := declared(s.syntax)
		for _, d := range names {
			if m := opening.FindStringSubmatch(d.doc.Text()); m != nil {
				refuse(d.doc.Pos(), "the comment of %s says what it %s; say what it returns or reports", d.name, m[2])
			}
		}
		for _, d := range append(names, local(s.syntax)...) {
			for _, b := range badNames {
				if matchesAny(b.packages, s.pkg) && b.names(d.name) && (!d.local || !b.whole()) {
					refuse(d.pos, "the name %s has the word %s; use: %s", d.name, strings.TrimPrefix(b.word, "="), b.instead)
				}
			}
		}
	}
	return found, nil
}

// whole reports whether the name as a whole is bad, not one of its words.
func (b badName) whole() bool { return strings.HasPrefix(b.word, "=") }

func (b badName) names(name string) bool {
	if whole, ok := strings.CutPrefix(b.word, "="); ok {
		return name == whole
	}
	for _, word := range wordsOf(name) {
		if word == b.word || word == b.word+"s" {
			return true
		}
	}
	return false
}

// wordsOf splits a name at its capital letters; "look up" stays one word.
func wordsOf(name string) (words []string) {
	last := ' '
	for _, r := range name {
		if len(words) == 0 || unicode.IsUpper(r) && !unicode.IsUpper(last) {
			words = append(words, "")
		}
		words[len(words)-1] += string(unicode.ToLower(r))
		last = r
	}
	for i := range len(words) - 1 {
		if words[i] == "look" && words[i+1] == "up" {
			words[i] = "lookup"
		}
	}
	return words
}

// declaration is a name that a file declares: a function, a method, a type, a field, a
// method of an interface, a constant, a variable or a parameter.
type declaration struct {
	name  string
	pos   token.Pos
	doc   *ast.CommentGroup
	local bool // to a function
}

// declared returns the names that a file declares outside of functions.
func declared(f *ast.File) (all []declaration) {
	add := func(doc *ast.CommentGroup, names ...*ast.Ident) {
		for _, id := range names {
			all = append(all, declaration{name: id.Name, pos: id.Pos(), doc: doc})
		}
	}
	fields := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncType:
				return false
			case *ast.Field:
				add(n.Doc, n.Names...)
			}
			return true
		})
	}
	all = append(all, declaration{name: f.Name.Name, pos: f.Name.Pos(), doc: f.Doc})
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			add(d.Doc, d.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(first(spec.Doc, d.Doc), spec.Name)
					fields(spec.Type)
				case *ast.ValueSpec:
					add(first(spec.Doc, d.Doc), spec.Names...)
				}
			}
		}
	}
	return all
}

// local returns the names that functions declare for themselves: parameters, results,
// receivers, variables and constants.
func local(f *ast.File) (all []declaration) {
	add := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			if id, ok := e.(*ast.Ident); ok {
				all = append(all, declaration{name: id.Name, pos: id.Pos(), local: true})
			}
		}
	}
	fields := func(list *ast.FieldList) {
		if list == nil {
			return
		}
		for _, field := range list.List {
			for _, id := range field.Names {
				add(id)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			fields(n.Recv)
		case *ast.FuncType:
			fields(n.Params)
			fields(n.Results)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key, n.Value)
			}
		case *ast.DeclStmt:
			if decl, ok := n.Decl.(*ast.GenDecl); ok {
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.ValueSpec); ok {
						for _, id := range spec.Names {
							add(id)
						}
					}
				}
			}
		}
		return true
	})
	return all
}

func first(docs ...*ast.CommentGroup) *ast.CommentGroup {
	for _, doc := range docs {
		if doc != nil {
			return doc
		}
	}
	return nil
}
