package archtest

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
	{[]string{"eventstore/zklive"}, []string{"*.conn.Multi", "*.conn.Create", "*.conn.Set", "*.conn.Delete"}},
	{[]string{"eventstore/jslog"}, []string{"*js.PublishMsg", "*js.PublishMsgAsync", "*.CommitMsg", "*.AddMsg", "*js.CreateStream", "*js.UpdateStream", "*js.DeleteStream", "*.nc.PublishMsg"}},
	{[]string{"projections", "migrations"}, []string{"tx.Commit", "provider.Up", "*.q.MakeEventPartitions", "*.q.CreateCheckpoint"}},
	{[]string{"cmd/internal/record"}, []string{"pgx.BeginFunc"}},
	{[]string{"cmd/internal/notify"}, []string{"via.Do"}},
	{[]string{"cmd/internal/store"}, []string{"*.bucket.Copy", "*.bucket.Delete", "*.bucket.NewWriter"}},
	{[]string{"cmd/internal/store", "cmd/internal/notify", "cmd/internal/wire", "cmd/internal/daemon"}, fileCalls},
}

// fileCalls create, name, remove and sync files and directories.
var fileCalls = []string{
	"os.Mkdir", "os.MkdirAll", "os.WriteFile", "os.Rename", "os.Remove", "os.RemoveAll", "os.Create", "os.Link",
	"*root.Mkdir", "*root.MkdirAll", "*root.OpenFile", "*root.WriteFile", "*root.Rename", "*root.Remove", "*root.RemoveAll", "*root.Link",
	"t.Dir.MkdirAll", "t.Dir.OpenFile", "t.Dir.Rename", "t.Dir.Remove", "*.Sync",
}

// Unmarked are calls without a point of their own, FILE FUNCTION CALL, with the
// reason.
var Unmarked = map[string]string{
	"eventstore/zklive/tree.go destroy s.conn.Delete":            "the multi before it, node by node because somebody moved one meanwhile",
	"eventstore/zklive/outbox_sweep.go remove o.s.conn.Delete":   "the multi before it, node by node because somebody moved one meanwhile",
	"cmd/internal/notify/maildrop.go put root.Remove":            "its own draft after an error; whoever dies leaves it, as after the draft was written",
	"cmd/internal/notify/maildrop.go stage root.Remove":          "its own draft after an error; whoever dies leaves it, as after the draft was written",
	"cmd/internal/store/claim.go Commit root.Remove":             "its own part after an error; whoever dies leaves it, as after the part was created",
	"cmd/internal/store/claim.go Abort p.claim.work.root.Remove": "its own part after an error; whoever dies leaves it, as after the part was created",
	"cmd/internal/notify/maildrop.go makeDir os.Mkdir":           "the drop that the start has made is gone: it is made again",
	"cmd/internal/store/put.go place s.bucket.Copy":              "in a bucket that is no directory, one request of its driver",
	"cmd/internal/store/put.go place s.bucket.Delete":            "its own upload after an error, or in a bucket that is no directory",
}

// CheckEffects asks for a crash point before and after each side effect, in its
// function, with no other effect in between.
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
				found = append(found, unmarked(s, f, calls, used)...)
			}
		}
	}
	for key := range Unmarked {
		file, _, _ := strings.Cut(key, " ")
		if _, err := fs.Stat(root, file); err == nil && !used[key] {
			found = append(found, Finding{file, 0, fmt.Sprintf("archtest/effects.go excuses %q, which is not there any more: remove the row", key)})
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

// writingQueries gives the calls of the record's queries that change something, on
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

// mark is a point or an effect, where it stands.
type mark struct {
	pos   token.Pos
	point bool
	call  string
}

// unmarked walks one function in the order of its text.
func unmarked(s source, f *ast.FuncDecl, calls []string, used map[string]bool) []Finding {
	var marks []mark
	ast.Inspect(f.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := written(call.Fun)
		switch {
		case name == "crash.Point":
			marks = append(marks, mark{call.Pos(), true, ""})
		case slices.ContainsFunc(calls, func(c string) bool { ok, err := path.Match(c, name); return ok && err == nil }):
			key := s.file + " " + f.Name.Name + " " + name
			if _, excused := Unmarked[key]; excused {
				used[key] = true
				return true
			}
			marks = append(marks, mark{call.Pos(), false, name})
		}
		return true
	})
	slices.SortFunc(marks, func(a, b mark) int { return int(a.pos - b.pos) })
	var found []Finding
	for i, m := range marks {
		if m.point {
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
			found = append(found, Finding{s.file, s.fset.Position(m.pos).Line, fmt.Sprintf(
				"%s in %s changes something outside, and no crash.Point stands right %s it: add one, or a row with the reason in archtest/effects.go",
				m.call, f.Name.Name, strings.Join(lacks, " and "))})
		}
	}
	return found
}

// written gives a call's function as the text has it, for names joined by dots.
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
	}
	return "?"
}
