package repocheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Effect says which calls of a package change something outside the process. The
// process may die right before and right after each.
type Effect struct {
	Packages []string // patterns
	Calls    []string // receiver.name as written; * stands for any part without a slash
}

// Effects is every way by which the write path, the relay, the projector and the
// daemons change the world. Calls of the queries in queries/record that write are
// added to those of cmd/internal/record.
var Effects = []Effect{
	{[]string{"eventstore/zklive/internal/session"}, []string{"*.conn.Multi", "*.conn.Create", "*.conn.Set", "*.conn.Delete"}},
	{[]string{"eventstore/jslog"}, []string{"*js.PublishMsg", "*js.PublishMsgAsync", "*.CommitMsg", "*.AddMsg", "*js.CreateStream", "*js.UpdateStream", "*js.DeleteStream", "*.nc.PublishMsg"}},
	{[]string{"projections", "projections/rebuild", "migrations"}, []string{"tx.Commit", "provider.Up"}},
	{[]string{"projections"}, []string{"pgx.BeginTxFunc", "tables.Create"}},
	{[]string{"cmd/internal/record"}, []string{"pgx.BeginFunc"}},
	{[]string{"cmd/internal/notify", "cmd/internal/mint/service", "cmd/internal/stepservice"}, []string{"via.Do"}},
	{[]string{"cmd/internal/store"}, []string{"*.bucket.Copy", "*.bucket.Delete", "*.bucket.NewWriter", "*.bucket.WriteAll"}},
	{[]string{"cmd/internal/store", "cmd/internal/notify", "cmd/internal/wire", "cmd/internal/daemon"}, fileCalls},
}

// fileCalls create, name, remove and sync files and directories.
var fileCalls = []string{
	"os.Mkdir", "os.MkdirAll", "os.WriteFile", "os.Rename", "os.Remove", "os.RemoveAll", "os.Create", "os.Link",
	"*root.Mkdir", "*root.MkdirAll", "*root.OpenFile", "*root.WriteFile", "*root.Rename", "*root.Remove", "*root.RemoveAll", "*root.Link",
	"unix.Mkdirat", "unix.Renameat", "unix.Linkat", "unix.Unlinkat",
	"*.Sync",
}

// Unmarked are effects without a point of their own, PACKAGE FUNCTION CALL, with the
// reason.
var Unmarked = map[string]string{
	"eventstore/zklive/internal/session DeleteAll c.conn.Delete": "the multi before it, node by node because another process moved one meanwhile",
	"cmd/internal/notify put root.Remove":                        "its own draft after an error; a process that dies leaves it, as after the draft was written",
	"cmd/internal/notify stage root.Remove":                      "its own draft after an error; a process that dies leaves it, as after the draft was written",
	"cmd/internal/store Commit p.root.Remove":                    "its own part after an error; a process that dies leaves it, as after the part was created",
	"cmd/internal/store write unix.Unlinkat":                     "its own draft after an error; a process that dies leaves it, as after the draft was created",
	"cmd/internal/store Abort p.root.Remove":                     "its own part after an error; a process that dies leaves it, as after the part was created",
	"cmd/internal/record LeadBulkAction pgx.BeginFunc":           "a transaction that only holds a lock",
	"cmd/internal/notify makeDir os.Mkdir":                       "the drop that the start has made is gone: it is made again",
	"cmd/internal/store provesConditions s.bucket.WriteAll":      "an empty object under a name of its own, which nothing reads",
	"cmd/internal/store provesConditions s.bucket.Delete":        "its own empty object",
}

// CheckEffects asks for crash points before and after each side effect: it is the only
// one in the function literal that crash.Around or a wrapper runs, or crash.Point stands
// on each side of it in its function, with no other effect in between.
func CheckEffects(root fs.FS) ([]Finding, error) {
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	writes, err := writingQueries(root)
	if err != nil {
		return nil, err
	}
	var found []Finding
	used := map[string]bool{}
	known := findWrappers(all)
	for _, s := range all {
		if s.test {
			continue
		}
		calls := effectsOf(s.pkg, writes)
		if len(calls) == 0 {
			continue
		}
		for _, decl := range s.syntax.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				found = append(found, unmarked(s, f, known, calls, used)...)
			}
		}
	}
	for key := range Unmarked {
		if !used[key] && whole(root) {
			found = append(found, Finding{"repocheck/effects.go", 0, fmt.Sprintf("excuses %q, which is not there any more: remove the row", key)})
		}
	}
	return found, nil
}

func effectsOf(pkg string, writes []string) (calls []string) {
	for _, e := range Effects {
		if matchesAny(e.Packages, pkg) {
			calls = append(calls, e.Calls...)
		}
	}
	if pkg == "cmd/internal/record" {
		calls = append(calls, writes...)
	}
	return calls
}

// writingQueries returns the calls of the record's queries that change something, on
// the connection itself: within a transaction, the commit is the effect.
func writingQueries(root fs.FS) (calls []string, err error) {
	names, err := fs.Glob(root, "queries/record/*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		for q := range strings.SplitSeq(string(text), "-- name: ") {
			head, body, _ := strings.Cut(q, "\n")
			name, _, _ := strings.Cut(head, " ")
			body = strings.ToLower(body)
			if strings.Contains(body, "insert into") || strings.Contains(body, "update ") || strings.Contains(body, "delete from") {
				calls = append(calls, "r.q."+name)
			}
		}
	}
	return calls, nil
}

// mark is a point, an effect, or a call of a wrapper, where it stands.
type mark struct {
	pos    token.Pos
	point  bool
	effect string // "" for a wrapper
}

// span is an argument that a wrapper runs between two points.
type span struct {
	from, to token.Pos
	effects  int
}

// unmarked walks one function in the order of its text.
func unmarked(s source, f *ast.FuncDecl, known wrappers, calls []string, used map[string]bool) []Finding {
	var marks []mark
	var spans []*span
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if written(n.Fun) == "crash.Point" {
				marks = append(marks, mark{n.Pos(), true, ""})
			} else if w, ok := known.called(s, n); ok {
				marks = append(marks, mark{n.Pos(), false, ""})
				for i, arg := range n.Args {
					if i != w.name0 {
						spans = append(spans, &span{arg.Pos(), arg.End(), 0})
					}
				}
			}
		case *ast.SelectorExpr:
			name := written(n)
			if !slices.ContainsFunc(calls, func(c string) bool { ok, err := path.Match(c, name); return ok && err == nil }) {
				return true
			}
			key := s.pkg + " " + f.Name.Name + " " + name
			if _, excused := Unmarked[key]; excused {
				used[key] = true
			} else {
				marks = append(marks, mark{n.Pos(), false, name})
			}
		}
		return true
	})
	slices.SortFunc(marks, func(a, b mark) int { return int(a.pos - b.pos) })
	var found []Finding
	refuse := func(m mark, what string) {
		found = append(found, Finding{s.file, s.fset.Position(m.pos).Line, fmt.Sprintf(
			"%s in %s changes something outside, and %s: run it in crash.Around, or add a row with the reason to repocheck/effects.go", m.effect, f.Name.Name, what)})
	}
	for i, m := range marks {
		if m.effect == "" {
			continue
		}
		inner := slices.IndexFunc(spans, func(s *span) bool { return s.from <= m.pos && m.pos < s.to })
		if inner >= 0 {
			if spans[inner].effects++; spans[inner].effects > 1 {
				refuse(m, "another effect stands between the same points")
			}
			continue
		}
		var lacks []string
		if i == 0 || !marks[i-1].point {
			lacks = append(lacks, "before")
		}
		if i == len(marks)-1 || !marks[i+1].point {
			lacks = append(lacks, "after")
		}
		if len(lacks) > 0 {
			refuse(m, "no crash point stands right "+strings.Join(lacks, " and ")+" it")
		}
	}
	return found
}

// written returns a call's function as the text has it, for names joined by dots.
func written(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return written(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		return written(e.Fun) + "()"
	case *ast.IndexExpr:
		return written(e.X)
	case *ast.IndexListExpr:
		return written(e.X)
	}
	return "?"
}
